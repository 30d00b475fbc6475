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

/** A duration in the largest unit of which it has at least two, so `90 s` and not `2 min`; `never` for Infinity. */
export function formatDuration(seconds: number): string {
  if (seconds === Infinity) return 'never';
  if (seconds >= 2 * DAY_SECONDS) return `${Math.round(seconds / DAY_SECONDS)} days`;
  if (seconds >= 2 * HOUR_SECONDS) return `${Math.round(seconds / HOUR_SECONDS)} h`;
  if (seconds >= 2 * MINUTE_SECONDS) return `${Math.round(seconds / MINUTE_SECONDS)} min`;
  return `${Math.round(seconds)} s`;
}

/** @param epochMs milliseconds since the epoch, in the years 1 to 9999; `none` stands for Infinity */
export function formatMoment(epochMs: number): string {
  if (epochMs === Infinity) return 'none';
  const isoText = new Date(epochMs).toISOString(); // 2026-11-27T15:10:00.000Z
  const date = isoText.slice(0, 'yyyy-mm-dd'.length);
  const time = isoText.slice('yyyy-mm-ddT'.length, 'yyyy-mm-ddThh:mm:ss'.length);
  return `${date} ${time} UTC`;
}
