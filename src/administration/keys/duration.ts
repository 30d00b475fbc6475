import { AdministrationError } from '../frame/command.js';

const UNITS: Record<string, number> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
  y: 31_536_000_000,
};

/** The moment after a duration such as 90d, as RFC 3339; error messages name `option`. */
export function momentIn(option: string, duration: string): string {
  const [, count, unit = ''] = /^([1-9]\d{0,4})([mhdwy])$/.exec(duration) ?? [];
  const milliseconds = UNITS[unit];
  if (!count || !milliseconds)
    throw new AdministrationError(
      `${option} is "${duration}": a number and a unit are needed, such as 90d (m, h, d, w or y).`,
    );
  const moment = new Date(Date.now() + Number(count) * milliseconds);
  if (moment.getUTCFullYear() > 9998)
    throw new AdministrationError(
      `${option} is "${duration}": the key would be valid beyond the year 9998.`,
    );
  return moment.toISOString();
}
