// Finds where the statements of a script begin: for `check`, which names the line of a COMMIT, and for the line of a statement that failed.
// The time is proportional to the length of the script, whatever stands in it: strings and comments are passed by a search for their end.
const TOKEN =
  /--|\/\*|'|"|;|\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$|[\w\u0080-\uffff][\w$\u0080-\uffff]*|\S/g;
/** A migration may use `rollback to` with its own savepoints. */
const TRANSACTION_CONTROL =
  /^(begin|commit|end|rollback|abort|start transaction|prepare transaction)\b(?! ((work|transaction) )?to\b)/;
const HEAD = 3;

export interface Statement {
  /** Where it begins: an index of the script. */
  readonly start: number;
  /** Its first words, in lower case. */
  readonly head: string;
}

export function statementsOf(sql: string): Statement[] {
  const statements: Statement[] = [];
  let words: string[] = [];
  let [start, depth, last] = [-1, 0, ''];
  const finish = (): void => {
    if (start >= 0) statements.push({ start, head: words.join(' ') });
    [start, last, words] = [-1, '', []];
  };
  TOKEN.lastIndex = 0;
  for (let match = TOKEN.exec(sql); match; match = TOKEN.exec(sql)) {
    const [token] = match;
    const next = TOKEN.lastIndex;
    if (token === ';' && depth === 0) finish();
    else if (token === '--') TOKEN.lastIndex = endOfMatch(sql, /[\n\r]/g, next);
    else if (token === '/*') TOKEN.lastIndex = endOfComment(sql, next);
    else {
      if (start < 0) start = match.index;
      if (token === "'" || token === '"')
        TOKEN.lastIndex =
          token === "'" && last === 'e' && /e/i.test(sql[match.index - 1] ?? '')
            ? endOfEscapeString(sql, next)
            : endOf(sql, token, next);
      else if (/^\$.*\$$/.test(token)) TOKEN.lastIndex = endOf(sql, token, next);
      const word = /^\w/.test(token) ? token.toLowerCase() : '';
      if (word && words.length < HEAD) words.push(word);
      // The body of a function in standard SQL, `begin atomic … end`, contains semicolons
      if (word === 'atomic' && last === 'begin' && words[0] === 'create') depth = 1;
      else if (depth > 0 && word === 'case') depth++;
      else if (depth > 0 && word === 'end') depth--;
      last = word;
    }
  }
  finish();
  return statements;
}

/** Whether it begins or ends a transaction. */
export const isTransactionControl = ({ head }: Statement): boolean =>
  TRANSACTION_CONTROL.test(head);

/** The number, from 1, of the line with this index. */
export const lineAt = (text: string, index: number): number =>
  (text.slice(0, index).match(/\n/g)?.length ?? 0) + 1;

/** The server refuses what is not closed. */
function endOf(sql: string, end: string, from: number): number {
  const at = sql.indexOf(end, from);
  return at < 0 ? sql.length : at + end.length;
}

/** In E'…' a backslash escapes. What follows on another line between quotes continues it. */
function endOfEscapeString(sql: string, from: number): number {
  const token = /\\[^]|''|'[ \t\f\v]*[\n\r](?:\s|--.*[\n\r])*'|'/g;
  token.lastIndex = from;
  for (let match = token.exec(sql); match; match = token.exec(sql))
    if (match[0] === "'") return token.lastIndex;
  return sql.length;
}

/** Comments nest. */
function endOfComment(sql: string, from: number): number {
  const bound = /\/\*|\*\//g;
  bound.lastIndex = from;
  let depth = 1;
  for (let match = bound.exec(sql); match; match = bound.exec(sql)) {
    depth += match[0] === '/*' ? 1 : -1;
    if (depth === 0) return bound.lastIndex;
  }
  return sql.length;
}

function endOfMatch(sql: string, wanted: RegExp, from: number): number {
  wanted.lastIndex = from;
  return wanted.test(sql) ? wanted.lastIndex : sql.length;
}
