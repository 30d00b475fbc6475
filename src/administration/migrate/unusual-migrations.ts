// Marks migrations whose name is earlier than the name of an applied one, and times without a zone in migrations.
import type { CodeRows } from '../../lookups/code-rows.js';
import { showInvisible } from '../cli/invisible-characters.js';
import { type Migration, chooseName, compareNames } from './migration-files.js';

/** A quoted text, such as '2031-01-01 00:00'. */
const QUOTED_TEXT = /'[^'\n]*'/g;
/** The text after a quoted time, as in ('2031-01-01'::timestamp) at time zone 'UTC'. */
const AT_TIME_ZONE = /^(?:::[a-z ]+)?\)*\s*at\s+time\s+zone/i;
/** The forms of a zone at the end of a time. */
const ZONES = [
  /\d ?Z$/i, // 00:00Z
  /\s[A-Z]{3,5}$/i, // 00:00 CET
  /\s[A-Z]\w+\/\w+$/i, // 00:00 Europe/Berlin
  /:\S*\s?[+-]\d{1,2}(?::?\d{2})?$/, // 00:00+01. Without the colon, the end of 2031-01-01 would be a zone
];

/**
 * Returns a sentence for each pending migration whose name is earlier than the name of an applied one. A new database
 * would apply the two in the other order, and may then have other codes.
 */
export function markEarlyNames(pending: readonly string[], applied: readonly string[]): string[] {
  const lastApplied = applied.toSorted(compareNames).at(-1);
  if (lastApplied === undefined) return [];
  const names = [...pending, ...applied];
  const marks: string[] = [];
  for (const name of pending) {
    if (compareNames(name, lastApplied) > 0) continue;
    const subject = name.slice(name.indexOf('_') + 1);
    // 0 instead of the present time, so that each run makes the same plan: a label of docs/pipeline.md has its hash
    const laterName = chooseName(subject, names, 0);
    names.push(laterName); // so that the next new name comes after this one
    marks.push(
      `${name}: if it is applied nowhere yet, rename it to ${laterName}.sql. ` +
        `Its name is earlier than ${lastApplied}, which is applied: a new database would apply them in the other order`,
    );
  }
  return marks;
}

/**
 * Returns a sentence for each time without a zone in these migrations, if a value or code begins or ends at that time
 * in the rows after them, but not in the rows before them.
 */
export function markTimesWithoutZone(migrations: readonly Migration[], before: CodeRows, after: CodeRows): string[] {
  const formerTimes = findTimes(before);
  const newTimes = new Set([...findTimes(after)].filter((timeMs) => !formerTimes.has(timeMs)));
  const marks: string[] = [];
  for (const { name, up } of migrations) {
    for (const match of up.matchAll(QUOTED_TEXT)) {
      const [literal] = match;
      const text = literal.slice(1, -1); // without the quotes
      const timeMs = Date.parse(`${text.replace('T', ' ')} UTC`); // with T, Date.parse refuses UTC
      if (!newTimes.has(timeMs)) continue; // the text is no time, or no value or code newly begins or ends then
      const textAfter = up.slice(match.index + literal.length);
      if (ZONES.some((zone) => zone.test(text)) || AT_TIME_ZONE.test(textAfter)) continue;
      const line = up.slice(0, match.index).split('\n').length;
      const utc = new Date(timeMs).toISOString();
      marks.push(`${name}, line ${line}: ${showInvisible(literal)} has no time zone, so it is ${utc}. Write the zone`);
    }
  }
  return marks;
}

function findTimes({ values, records }: CodeRows): Set<number> {
  return new Set([...values, ...records].flatMap(({ validFromMs, validUntilMs }) => [validFromMs, validUntilMs]));
}
