import { type Html, html } from '../html/html.js';

/** A text of the page of the state. */
export interface Cell {
  readonly text: string;
  /** Whether people have to look at it. */
  readonly isWarning?: boolean;
}

const MINUTE_SECONDS = 60;
const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 86_400;

export function renderCell({ text, isWarning = false }: Cell): Html {
  return isWarning ? html`<strong>${text}</strong>` : html`${text}`;
}

/** Uses the largest unit of which the duration has at least two; `never` stands for Infinity. */
export function formatDuration(seconds: number): string {
  if (seconds === Infinity) return 'never';
  if (seconds >= 2 * DAY_SECONDS) return `${Math.round(seconds / DAY_SECONDS)} days`;
  if (seconds >= 2 * HOUR_SECONDS) return `${Math.round(seconds / HOUR_SECONDS)} h`;
  if (seconds >= 2 * MINUTE_SECONDS) return `${Math.round(seconds / MINUTE_SECONDS)} min`;
  return `${Math.round(seconds)} s`;
}

/** @param epochMs milliseconds since the epoch; `none` stands for Infinity */
export function formatMoment(epochMs: number): string {
  if (epochMs === Infinity) return 'none';
  const [date, time = ''] = new Date(epochMs).toISOString().split('T');
  return `${date} ${time.slice(0, 'hh:mm:ss'.length)} UTC`;
}
