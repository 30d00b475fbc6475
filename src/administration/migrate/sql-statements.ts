// Tells an administrator which statement of a file failed, and finds a COMMIT before it runs. What runs is the file as a whole.
const TOKEN = new RegExp(
  [
    /--[^\n]*/, // comments; those between slashes may hold another
    /\/\*(?:\/\*[\s\S]*?\*\/|(?!\*\/)[\s\S])*\*\//,
    /[eE]'(?:[^'\\]|\\[\s\S]|'')*'/,
    /'(?:[^']|'')*'/,
    /"(?:[^"]|"")*"/,
    /(\$(?:[A-Za-z_]\w*)?\$)[\s\S]*?\1/,
    /\w[\w$]*/,
    /\s+/,
    /[\s\S]/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'g',
);

interface Statement {
  readonly text: string;
  /** Index of its first character. */
  readonly start: number;
}

/** The statements of a script, without the comments and blanks before them. */
export function statementsOf(sql: string): Statement[] {
  const statements: Statement[] = [];
  let [text, start, depth, last] = ['', 0, 0, ''];
  for (const { 0: token, index } of sql.matchAll(TOKEN)) {
    if (token === ';' && depth === 0) {
      if (text !== '') statements.push({ text: text.trim(), start });
      [text, last] = ['', ''];
    } else if (text !== '' || !/^(--|\/\*|\s)/.test(token)) {
      if (text === '') start = index;
      text += token;
      depth = depthAfter(token.toLowerCase(), last, depth);
      if (/^\w/.test(token)) last = token.toLowerCase();
    }
  }
  if (text.trim() !== '') statements.push({ text: text.trim(), start });
  return statements;
}

/** A function's body in standard SQL, `begin atomic … end`, has semicolons of its own. */
function depthAfter(word: string, last: string, depth: number): number {
  if (word === 'atomic' && last === 'begin') return 1;
  if (depth > 0 && word === 'case') return depth + 1;
  return depth > 0 && word === 'end' ? depth - 1 : depth;
}

/** The line, from 1, on which the character at `index` stands. */
export const lineAt = (text: string, index: number): number =>
  text.slice(0, index).split('\n').length;
