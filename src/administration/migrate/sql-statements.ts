// Splits a script into statements that are sent one by one, with a protocol that accepts only one statement for each message. So the server
// runs exactly the statements that were checked here. If a script is split wrongly, the server reports a syntax error.
const TOKEN = new RegExp(
  [
    /--[^\n\r]*/,
    /\/\*/, // comments nest: the end is looked for below
    /[eE]'(?:[^'\\]+|\\[^]|'')*'/,
    /'[^']*'/, // 'it''s' is two of them
    /"[^"]*"/,
    /(\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$)[^]*?\1/,
    /[\w\u0080-\uffff][\w$\u0080-\uffff]*/,
    /\s+/,
    /[^]/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'g',
);
const COMMENT_BOUND = /\/\*|\*\//g;
/** A migration may use `rollback to` with its own savepoints. */
const TRANSACTION_CONTROL =
  /^(begin|commit|end|rollback|abort|start\s+transaction|prepare\s+transaction)\b(?!\s+(work\s+|transaction\s+)?to\b)/i;

export interface Statement {
  /** Without comments and white space around it, and without its semicolon. */
  readonly text: string;
  /** The line, from 1, on which it begins. */
  readonly line: number;
}

/** The statements of a script whose first line has the number `line` in its file. */
export function statementsOf(sql: string, line = 1): Statement[] {
  const statements: Statement[] = [];
  let [start, end, depth, last, counted] = [-1, 0, 0, '', 0];
  const finish = (): void => {
    if (start < 0) return;
    line += newlines(sql, counted, start);
    statements.push({ text: sql.slice(start, end), line });
    [counted, start, last] = [start, -1, ''];
  };
  TOKEN.lastIndex = 0;
  for (let match = TOKEN.exec(sql); match; match = TOKEN.exec(sql)) {
    const [token] = match;
    if (token === '/*') {
      const closed = endOfComment(sql, match.index);
      TOKEN.lastIndex = closed ?? sql.length;
      if (closed !== undefined) continue; // the server refuses one that is not closed
    }
    if (token === ';' && depth === 0) finish();
    else if (!/^(--|\s)/.test(token)) {
      if (start < 0) start = match.index;
      end = TOKEN.lastIndex;
      if (/^\w/.test(token)) {
        depth = depthAfter(token.toLowerCase(), last, depth);
        last = token.toLowerCase();
      }
    }
  }
  finish();
  return statements;
}

/** Whether it begins or ends a transaction. Comments between its first words count as white space. */
export const isTransactionControl = ({ text }: Statement): boolean =>
  TRANSACTION_CONTROL.test(text.slice(0, 1000).replaceAll(/--[^\n\r]*|\/\*[^]*?\*\//g, ' '));

function endOfComment(sql: string, start: number): number | undefined {
  COMMENT_BOUND.lastIndex = start;
  let depth = 0;
  for (let bound = COMMENT_BOUND.exec(sql); bound; bound = COMMENT_BOUND.exec(sql)) {
    depth += bound[0] === '/*' ? 1 : -1;
    if (depth === 0) return COMMENT_BOUND.lastIndex;
  }
  return undefined;
}

/** The body of a function in standard SQL, `begin atomic … end`, contains semicolons. */
function depthAfter(word: string, last: string, depth: number): number {
  if (word === 'atomic' && last === 'begin') return 1;
  if (depth > 0 && word === 'case') return depth + 1;
  return depth > 0 && word === 'end' ? depth - 1 : depth;
}

function newlines(text: string, from: number, to: number): number {
  let count = 0;
  for (let at = text.indexOf('\n', from); at >= 0 && at < to; at = text.indexOf('\n', at + 1))
    count++;
  return count;
}
