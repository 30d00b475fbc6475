// Marks migrations whose name is earlier than an applied one, and times without a zone in their SQL.
import type { CodeRows } from '../../lookups/code-rows.js';
import { showInvisible } from '../cli/invisible-characters.js';
import { type Migration, chooseName, compareNames } from './migration-files.js';

/**
 * A quoted text with a digit, such as '2031-01-01 00:00'. It does not match a text with a zone after it, such as
 * ('2031-01-01'::timestamp) at time zone 'UTC'.
 */
const QUOTED_TEXT = /'(?<text>[^'\n]*\d[^'\n]*)'(?!(?:::[a-z ]+)?\)*\s*at\s+time\s+zone)/gi;
/** The zone at the end of a time: Z, CET, Europe/Berlin or +01. A colon must precede +01, unlike -01 in 2031-01-01. */
const ZONE = /(?:\d ?Z|\s[A-Z]{3,5}|\s[A-Z]\w+\/\w+|:\S*\s?[+-]\d{1,2}(?::?\d{2})?)$/i;

/**
 * Returns a sentence for each pending migration whose name is earlier than that of an applied one. A new database would
 * apply them in the other order, and may get another content.
 */
export function markEarlyNames(pending: readonly string[], applied: readonly string[]): string[] {
  const lastApplied = applied.toSorted(compareNames).at(-1);
  if (lastApplied === undefined) return [];
  const names = [...pending, ...applied];
  const marks: string[] = [];
  for (const name of pending) {
    if (compareNames(name, lastApplied) > 0) continue;
    const subject = name.slice(name.indexOf('_') + 1);
    const laterName = chooseName(subject, names);
    names.push(laterName); // so that the next new name comes after this one
    marks.push(
      `${name}: if it is applied nowhere yet, rename it to ${laterName}.sql. ` +
        `Its name is earlier than ${lastApplied}, which is applied: a new database would apply them in the other order`,
    );
  }
  return marks;
}

/** Returns a sentence for each time without a zone at which the migrations make a value or code begin or end. */
export function markTimesWithoutZone(migrations: readonly Migration[], before: CodeRows, after: CodeRows): string[] {
  const formerTimes = findTimes(before);
  const newTimes = new Set([...findTimes(after)].filter((timeMs) => !formerTimes.has(timeMs)));
  const marks: string[] = [];
  for (const { name, up } of migrations) {
    for (const { 0: literal, index, groups } of up.matchAll(QUOTED_TEXT)) {
      const text = groups?.['text'] ?? '';
      if (ZONE.test(text)) continue;
      const timeMs = Date.parse(`${text.replace('T', ' ')} UTC`); // with T, Date.parse refuses UTC
      if (!newTimes.has(timeMs)) continue; // probably a description that has digits
      const line = up.slice(0, index).split('\n').length;
      const utc = new Date(timeMs).toISOString();
      marks.push(`${name}, line ${line}: ${showInvisible(literal)} has no time zone, so it is ${utc}. Write the zone`);
    }
  }
  return marks;
}

function findTimes({ values, records }: CodeRows): Set<number> {
  return new Set([...values, ...records].flatMap(({ validFromMs, validUntilMs }) => [validFromMs, validUntilMs]));
}
