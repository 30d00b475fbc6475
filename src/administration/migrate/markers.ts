import leven from 'leven';
import { AdministrationError } from '../frame/command.js';

interface Part {
  readonly sql: string;
  /** The number, from 1, of its first line in the file. */
  readonly line: number;
}

const [UP, DOWN] = ['-- Up Migration', '-- Down Migration'];
/** Largest edit distance at which a line still counts as a misspelt marker. */
const TYPING_ERRORS = 2;

/**
 * The parts of a migration: after exactly one whole line `-- Up Migration`, and after at most one `-- Down Migration` that follows it.
 * @throws AdministrationError with file and line for other lines that look like a marker, and for statements before the first marker
 */
export function splitByMarkers(file: string, text: string): { up: Part; down: Part } {
  const lines = text.split('\n');
  const fault = (index: number, said: string): AdministrationError =>
    new AdministrationError(`${file}, line ${index + 1}: ${said}`);
  const near = lines.findIndex((line) => !isMarker(line) && looksLikeMarker(line));
  if (near >= 0)
    throw fault(
      near,
      `"${lines[near]?.trim()}" looks like a marker, but is none. A marker is a line of its own: "${UP}" or "${DOWN}".`,
    );
  const [up, down, ...others] = lines.flatMap((line, index) => (isMarker(line) ? [index] : []));
  if (up === undefined)
    throw new AdministrationError(
      `${file} has no line "${UP}". Put it above what the migration does.`,
    );
  if (lines[up]?.trimEnd() !== UP) throw fault(up, `"${DOWN}" stands before "${UP}". Swap them.`);
  const twice = down !== undefined && lines[down]?.trimEnd() === UP ? down : others[0];
  if (twice !== undefined)
    throw fault(twice, `"${lines[twice]}" stands there twice. Take one of them out.`);
  const early = lines.slice(0, up).findIndex((line) => !/^\s*(--.*)?$/.test(line));
  if (early >= 0)
    throw fault(early, `only comments can stand above "${UP}". Move this line below it.`);
  const part = (from: number, to?: number): Part => ({
    sql: lines.slice(from, to).join('\n'),
    line: from + 1,
  });
  return { up: part(up + 1, down), down: part((down ?? lines.length) + 1) };
}

const isMarker = (line: string): boolean => [UP, DOWN].includes(line.trimEnd());

function looksLikeMarker(line: string): boolean {
  const isComment = /^\s*(--|#|\/\*|\/\/)/.test(line);
  const words = line
    .replaceAll(/[^A-Za-z]+/g, ' ')
    .trim()
    .toLowerCase();
  if (/^(up|down) migrations?$/.test(words)) return true;
  if (!isComment) return false;
  return (
    /^(migrat(e|ion) )?(up|down)( migrat(e|ion))?( begin| start| end)?$/.test(words) ||
    ['up migration', 'down migration'].some(
      (marker) =>
        words.length <= marker.length + TYPING_ERRORS && leven(words, marker) <= TYPING_ERRORS,
    )
  );
}
