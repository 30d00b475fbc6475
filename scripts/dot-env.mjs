// Reads .env, and names each line that cannot be read. Node.js itself ignores such a line silently.
import { isUtf8 } from 'node:buffer';
import { parseEnv } from 'node:util';

/** Matches an empty line, and `  # a comment`. `[^\S\n]` is white space except a line feed. */
const EMPTY_LINE = /[^\S\n]*(?:#.*)?(?:\n|$)/y;
/** Matches `PORT=` and `export PORT = `. */
const NAME = /[^\S\n]*(?:export[^\S\n]+)?(?<name>[\w.-]+)[^\S\n]*=[^\S\n]*/y;
/** A value in quotes may have several lines. */
const QUOTED = /(?<value>"[^"]*"|'[^']*'|`[^`]*`)[^\S\n]*(?:#.*)?(?:\n|$)/y;
/**
 * A value without quotes. A # without a space before it is refused, because Node.js would cut a password there.
 * Typographic quotes at the start are refused, because they would become part of the value.
 */
const UNQUOTED = /(?<value>(?:[^\s#"'`“”„‘’][^\n\r#]*?)?)(?:(?<=\s)#.*)?\s*?(?:\n|$)/y;

/** Returns the variables, and a sentence for each line that cannot be read. */
export function readDotEnv(bytes) {
  const variables = {};
  const faults = [];
  if (!isUtf8(bytes) || bytes.includes(0)) return { variables, faults: ['.env is not in UTF-8: save it as UTF-8.'] };
  const text = new TextDecoder().decode(bytes).replaceAll('\r\n', '\n'); // `decode` removes a byte order mark
  let at = 0;
  while (at < text.length) {
    const assignment = matchAssignment(text, at);
    if (assignment) {
      // The value gets the meaning that it has for Node.js: `"a\nb"` has two lines
      Object.assign(variables, parseEnv(`${assignment.name}=${assignment.value}`));
      at = assignment.end;
    } else {
      if (!matchAt(EMPTY_LINE, text, at)) faults.push(describeLine(text.slice(0, at).split('\n').length));
      at = findNextLine(text, at);
    }
  }
  return { variables, faults };
}

/** Returns the assignment that begins at this position, up to the end of its last line; undefined if there is none. */
function matchAssignment(text, at) {
  const name = matchAt(NAME, text, at);
  if (!name) return undefined;
  const valueAt = at + name[0].length;
  const value = matchAt(QUOTED, text, valueAt) ?? matchAt(UNQUOTED, text, valueAt);
  if (!value) return undefined;
  return { name: name.groups.name, value: value.groups.value, end: valueAt + value[0].length };
}

/** Matches a pattern with the flag `y` exactly at this position. */
function matchAt(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

function findNextLine(text, at) {
  const lineEnd = text.indexOf('\n', at);
  return lineEnd === -1 ? text.length : lineEnd + 1;
}

/** Returns a fault that does not show the line, because the line may contain a password. */
function describeLine(line) {
  return (
    `.env, line ${line} cannot be read. Needed is NAME=value, with straight quotes around a value that has a #, ` +
    'quotes or several lines.'
  );
}
