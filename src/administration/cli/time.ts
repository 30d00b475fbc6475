import { InvalidArgumentError } from 'commander';

const DATE = /^\d{4}-\d{2}-\d{2}$/;
const DATE_TIME = /^(?<local>\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?<fraction>\.\d+)?(?<zone>Z|[+-]\d{2}:\d{2})$/;
/** PostgreSQL keeps microseconds. */
const MAX_FRACTION_DIGITS = 6;

/**
 * Returns the time in UTC, to the microsecond and in its shortest form. Returns undefined if the text is not a
 * date-time of RFC 3339 in the years 1 to 9999.
 */
export function parseTime(text: string): string | undefined {
  const found = DATE_TIME.exec(text.toUpperCase())?.groups;
  if (!found || !isCivilTime(`${found['local']}`)) return undefined;
  const utc = new Date(`${found['local']}${found['zone']}`);
  if (!isOfYears1To9999(utc)) return undefined;
  const second = utc.toISOString().slice(0, 'YYYY-MM-DDTHH:MM:SS'.length);
  return `${second}${shortFraction(found['fraction'])}Z`;
}

/** Returns whether this day and time exist. `Date` accepts 24:00, and reads 30 February as 2 March. */
function isCivilTime(local: string): boolean {
  const date = new Date(`${local}Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(local);
}

/** Returns false for an invalid date, too. */
function isOfYears1To9999(date: Date): boolean {
  const year = date.getUTCFullYear();
  return year >= 1 && year <= 9999;
}

/** Returns the fraction without its last zeros, such as `.5`, or an empty text. */
function shortFraction(fraction = ''): string {
  const digits = fraction.slice(1, 1 + MAX_FRACTION_DIGITS).replace(/0+$/, '');
  return digits === '' ? '' : `.${digits}`;
}

/** Parses the text of an option. A date means its beginning in UTC. */
export function parseTimeOrDate(text: string): string {
  const time = parseTime(DATE.test(text) ? `${text}T00:00:00Z` : text);
  if (time !== undefined) return time;
  throw new InvalidArgumentError('It is neither a date (in UTC) nor a date-time such as 2027-01-01T00:00:00Z.');
}
