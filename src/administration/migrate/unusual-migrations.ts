// Marks migrations whose name is earlier than an applied one, and times without a zone in their SQL.
import type { CodeRows } from '../../lookups/code-rows.js';
import { showInvisible } from '../cli/invisible-characters.js';
import { type Migration, chooseName, compareNames } from './migration-files.js';

/** A quoted text of SQL with a digit. A text before `at time zone`, also with a cast, has a zone, and is left out. */
const TEXT = /'(?<text>[^'\n]*\d[^'\n]*)'(?!(?:::[a-z ]+)?\)*\s*at\s+time\s+zone)/gi;
/** The zone at the end of a time: Z, UTC, +01, +01:00, CET or Europe/Berlin. */
const ZONE = /(?:\d ?Z|\s[A-Z]{3,5}|\s[A-Z]\w+\/\w+|:\S*\s?[+-]\d{1,2}(?::?\d{2})?)$/i;

/**
 * Returns a sentence for each pending migration whose name is earlier than that of an applied one. A new database would
 * apply them in the other order, and may get another content.
 */
export function markEarlyNames(pending: readonly string[], applied: readonly string[]): string[] {
  const last = applied.toSorted(compareNames).at(-1);
  if (last === undefined) return [];
  const names = [...pending, ...applied];
  const marks: string[] = [];
  for (const name of pending) {
    if (compareNames(name, last) > 0) continue;
    const laterName = chooseName(name.slice(name.indexOf('_') + 1), names);
    names.push(laterName); // so that the next new name comes after this one
    marks.push(
      `${name}: if it is applied nowhere yet, rename it to ${laterName}.sql. ` +
        `Its name is earlier than ${last}, which is applied: a new database would apply them in the other order`,
    );
  }
  return marks;
}

/** Returns a sentence for each time without a zone, if the migrations make a code begin or end at that time. */
export function markTimesWithoutZone(migrations: readonly Migration[], before: CodeRows, after: CodeRows): string[] {
  const former = findTimes(before);
  const added = new Set([...findTimes(after)].filter((timeMs) => !former.has(timeMs)));
  const marks: string[] = [];
  for (const { name, up } of migrations) {
    for (const { 0: literal, index, groups } of up.matchAll(TEXT)) {
      const text = groups?.['text'] ?? '';
      const timeMs = ZONE.test(text) ? NaN : Date.parse(`${text.replace('T', ' ')} UTC`);
      if (!added.has(timeMs)) continue;
      const line = up.slice(0, index).split('\n').length;
      const utc = new Date(timeMs).toISOString();
      marks.push(`${name}, line ${line}: ${showInvisible(literal)} has no time zone, so it is ${utc}. Write the zone`);
    }
  }
  return marks;
}

/** Returns the beginnings and ends of all values and codes. */
function findTimes({ values, records }: CodeRows): Set<number> {
  return new Set([...values, ...records].flatMap(({ validFromMs, validUntilMs }) => [validFromMs, validUntilMs]));
}
