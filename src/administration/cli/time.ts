import { InvalidArgumentError } from 'commander';

const DATE = /^\d{4}-\d{2}-\d{2}$/;
/** Such as 2027-01-01T00:00:00Z or 2027-01-01T00:00:00.5+01:00. */
const DATE_TIME = /^(?<local>\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?<fraction>\.\d+)?(?<zone>Z|[+-]\d{2}:\d{2})$/;
const MAX_FRACTION_DIGITS = 6; // PostgreSQL keeps microseconds

/**
 * Returns the time in UTC, cut to microseconds and in its shortest form. Returns undefined if the text is no date-time
 * of RFC 3339, if it is a leap second, or if its year in UTC is not from 1 to 9999.
 */
export function parseTime(text: string): string | undefined {
  const found = DATE_TIME.exec(text.toUpperCase())?.groups;
  if (!found || !isRealTime(`${found['local']}`)) return undefined;
  const utc = new Date(`${found['local']}${found['zone']}`);
  if (!isInYears1To9999(utc)) return undefined;
  const second = utc.toISOString().slice(0, 'YYYY-MM-DDTHH:MM:SS'.length);
  return `${second}${shortenFraction(found['fraction'])}Z`;
}

/** Returns whether this day and time exist. `Date` accepts 24:00, and reads 30 February as a day in March. */
function isRealTime(local: string): boolean {
  const date = new Date(`${local}Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(local);
}

function isInYears1To9999(date: Date): boolean {
  const year = date.getUTCFullYear(); // NaN for a zone such as +24:00: both comparisons are then false
  return year >= 1 && year <= 9999;
}

/** Returns `.5` for `.500`, and an empty text for `.000`. */
function shortenFraction(fraction = ''): string {
  const digits = fraction.slice(1, 1 + MAX_FRACTION_DIGITS).replace(/0+$/, '');
  return digits === '' ? '' : `.${digits}`;
}

/** Parses the text of an option. A date means the beginning of that day in UTC. */
export function parseTimeOrDate(text: string): string {
  const time = parseTime(DATE.test(text) ? `${text}T00:00:00Z` : text);
  if (time !== undefined) return time;
  throw new InvalidArgumentError('It is neither a date (in UTC) nor a date-time such as 2027-01-01T00:00:00Z.');
}
