// Reads .env, and names each line that cannot be read. Node.js itself ignores such a line silently.
import { isUtf8 } from 'node:buffer';
import { parseEnv } from 'node:util';

const EMPTY_LINE = /[^\S\n]*(?:#.*)?(?:\n|$)/y;
const NAME = /[^\S\n]*(?:export[^\S\n]+)?(?<name>[\w.-]+)[^\S\n]*=[^\S\n]*/y;
/** A value in quotes may have several lines. */
const QUOTED = /(?<value>"[^"]*"|'[^']*'|`[^`]*`)[^\S\n]*(?:#.*)?(?:\n|$)/y;
/** Node.js would cut a password at a # that has no space before it. Typographic quotes would become part of a value. */
const UNQUOTED = /(?<value>(?:[^\s#"'`“”„‘’][^\n\r#]*?)?)(?:(?<=\s)#.*)?\s*?(?:\n|$)/y;

/** Returns the variables, and a sentence for each line that cannot be read. */
export function readDotEnv(bytes) {
  const variables = {};
  const faults = [];
  if (!isUtf8(bytes) || bytes.includes(0)) return { variables, faults: ['.env is not in UTF-8: save it as UTF-8.'] };
  const text = new TextDecoder().decode(bytes).replaceAll('\r\n', '\n'); // without a byte order mark
  for (let at = 0; at < text.length;) {
    const name = matchAt(NAME, text, at);
    const valueAt = at + (name?.[0].length ?? 0);
    const value = name && (matchAt(QUOTED, text, valueAt) ?? matchAt(UNQUOTED, text, valueAt));
    if (value) {
      Object.assign(variables, parseEnv(`${name.groups.name}=${value.groups.value}`));
      at = valueAt + value[0].length;
    } else {
      if (!matchAt(EMPTY_LINE, text, at)) faults.push(describeLine(text.slice(0, at).split('\n').length));
      at = `${text}\n`.indexOf('\n', at) + 1;
    }
  }
  return { variables, faults };
}

function matchAt(form, text, at) {
  form.lastIndex = at;
  return form.exec(text);
}

/** Returns a fault that does not show the line, because the line may contain a password. */
function describeLine(line) {
  return (
    `.env, line ${line} cannot be read. Needed is NAME=value, with straight quotes around a value that has a #, ` +
    'quotes or several lines.'
  );
}
