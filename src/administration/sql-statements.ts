// Only for telling an administrator which statement of a file failed: what runs is the file as a whole.
const TOKEN = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"|(\$(?:[A-Za-z_]\w*)?\$)[\s\S]*?\1|;|[^;'"$\-/]+|[$\-/]/g;

interface Statement {
  readonly text: string;
  /** Index of its first character. */
  readonly start: number;
}

/** The statements of a script, without the comments and blanks before them. */
export function statementsOf(sql: string): Statement[] {
  const statements: Statement[] = [];
  let text = '';
  let start = 0;
  for (const { 0: token, index } of sql.matchAll(TOKEN)) {
    if (token === ';') {
      if (text !== '') statements.push({ text: text.trim(), start });
      text = '';
    } else if (text !== '' || !/^(--|\/\*|\s+$)/.test(token)) {
      if (text === '') start = index + token.length - token.trimStart().length;
      text += text === '' ? token.trimStart() : token;
    }
  }
  if (text.trim() !== '') statements.push({ text: text.trim(), start });
  return statements;
}

/** The line, from 1, on which the character at `index` stands. */
export const lineAt = (text: string, index: number): number => text.slice(0, index).split('\n').length;
