/** A text of the page of the state. */
export interface Cell {
  readonly text: string;
  /** Whether people have to look at it. */
  readonly isWarning?: boolean;
}

const MINUTE_SECONDS = 60;
const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 86_400;

/** In the largest unit of which it has two at least, or `never` for Infinity. */
export function durationOf(seconds: number): string {
  if (seconds === Infinity) return 'never';
  if (seconds >= 2 * DAY_SECONDS) return `${Math.round(seconds / DAY_SECONDS)} days`;
  if (seconds >= 2 * HOUR_SECONDS) return `${Math.round(seconds / HOUR_SECONDS)} h`;
  if (seconds >= 2 * MINUTE_SECONDS) return `${Math.round(seconds / MINUTE_SECONDS)} min`;
  return `${Math.round(seconds)} s`;
}

/** `none` for Infinity. */
export function momentOf(milliseconds: number): string {
  if (milliseconds === Infinity) return 'none';
  const [date, time = ''] = new Date(milliseconds).toISOString().split('T');
  return `${date} ${time.slice(0, 'hh:mm:ss'.length)} UTC`;
}
