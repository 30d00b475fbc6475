import { CliError } from '../cli/program.js';

/** By the letter of the command line; the words are those of PostgreSQL's intervals. */
const UNITS: Readonly<Record<string, string>> = {
  m: 'minutes',
  h: 'hours',
  d: 'days',
  w: 'weeks',
  y: 'years',
};

/** For the help: `90d (m minutes, h hours, …)`. */
export const DURATION_UNITS = Object.entries(UNITS)
  .map(([letter, unit]) => `${letter} ${unit}`)
  .join(', ');

/** An interval of PostgreSQL from a text such as 90d. */
export function parseDuration(option: string, text: string): string {
  const [, amount, letter = ''] = /^([1-9]\d{0,3})([mhdwy])$/.exec(text) ?? [];
  if (amount === undefined) {
    throw new CliError(`${option} is "${text}", no duration such as 90d (${DURATION_UNITS}).`);
  }
  return `${amount} ${UNITS[letter]}`;
}
