import { refuse } from './command.js';

const DATE_TIME = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;

/** An RFC 3339 date-time of the years 1 to 9999 in UTC, to the microsecond, as short as it can be written; undefined if the text is not one. */
export function parseTime(text: string): string | undefined {
  const [, local = '', fraction = '', zone = ''] = DATE_TIME.exec(text.toUpperCase()) ?? [];
  const [civil, utc] = [new Date(`${local}Z`), new Date(local + zone)];
  if (Number.isNaN(civil.getTime()) || Number.isNaN(utc.getTime())) return undefined;
  const second = utc.toISOString().slice(0, 19);
  // Date takes 24:00, and 30 February for 2 March
  if (!civil.toISOString().startsWith(local) || !/^(?!0000)\d{4}-/.test(second)) return undefined;
  return `${second}${fraction.slice(0, 7)}`.replace(/\.0*$|(\.\d*[1-9])0*$/, '$1').concat('Z');
}

/** The same of an option's text, which may also be a date: its first moment in UTC. */
export const momentOf = (option: string, text: string): string =>
  parseTime(text.replace(/^\d{4}-\d{2}-\d{2}$/, '$&T00:00:00Z')) ??
  refuse(`${option} is "${text}", neither a date nor a date-time such as 2027-01-01T00:00:00Z.`);
