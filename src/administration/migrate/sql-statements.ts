// Splits a script into statements, so that each can be sent by itself: the server takes no message of two, so what it runs is what was
// looked at here. A script that is split wrongly is refused by the server as a fault of syntax.
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
/** `rollback to` a savepoint of its own is a migration's own affair. */
const TRANSACTION_CONTROL =
  /^(begin|commit|end|rollback|abort|start\s+transaction|prepare\s+transaction)\b(?!\s+(work\s+|transaction\s+)?to\b)/i;

export interface Statement {
  /** Without comments and blanks around it, and without its semicolon. */
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
      if (closed !== undefined) continue; // one that is not closed is left to the server, which refuses it
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

/** Whether it begins or ends a transaction. The comments between its first words count as blanks. */
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

/** A function's body in standard SQL, `begin atomic … end`, has semicolons of its own. */
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
