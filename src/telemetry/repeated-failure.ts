import { toMessage } from './error-message.js';
import type { ServiceLogger } from './service-logger.js';

const SUMMARY_INTERVAL_MS = 60_000;

/**
 * The effect of a lasting failure on callers:
 * - `none`: callers are never refused because of it.
 * - `refused-later`: callers are refused from a later time on.
 * - `refused`: callers are refused now. `secondsAgo` is undefined if they were refused from the start of the process.
 */
export type CallerImpact =
  | { readonly name: 'none' }
  | { readonly name: 'refused-later'; readonly secondsLeft: number }
  | { readonly name: 'refused'; readonly secondsAgo?: number };

/**
 * Returns the impact of a failure because of which callers are refused from some time on.
 * @param secondsLeft the seconds until that time; negative if the time has passed
 */
export function toCallerImpact(secondsLeft: number): CallerImpact {
  if (secondsLeft <= 0) return { name: 'refused', secondsAgo: -secondsLeft };
  return { name: 'refused-later', secondsLeft };
}

interface LoggedFailure {
  readonly impact: CallerImpact['name'];
  readonly reason: string;
  /** The time by the monotonic clock. */
  readonly atMs: number;
}

/**
 * Logs a failure that repeats: when it begins, once a minute while it lasts, when its reason or impact changes, and
 * when it ends. Call `noteFailure` or `noteSuccess` after each attempt. The message of an error is its reason: if it
 * contains a text that always changes, such as a time, each attempt writes a line.
 */
export class RepeatedFailure {
  private failures = 0;
  private lastReason: string | undefined;
  private logged: LoggedFailure | undefined;

  constructor(
    private readonly logger: Pick<ServiceLogger, 'log' | 'warn' | 'error'>,
    private readonly subject: string,
  ) {}

  get failuresInARow(): number {
    return this.failures;
  }

  /** The reason of the last failure, or undefined if the last attempt succeeded. */
  get reason(): string | undefined {
    return this.lastReason;
  }

  noteFailure(error: unknown, impact: CallerImpact): void {
    this.failures += 1;
    this.lastReason = toMessage(error);
    const failure = { impact: impact.name, reason: this.lastReason, atMs: performance.now() };
    if (!this.isWorthALine(failure)) return;
    this.logged = failure;
    this.writeLine(failure.reason, impact);
  }

  noteSuccess(): void {
    const { failures, subject } = this;
    if (failures === 0) return;
    this.logger.log({ message: `${subject}: works again`, failures });
    this.failures = 0;
    this.lastReason = undefined;
    this.logged = undefined;
  }

  private isWorthALine({ impact, reason, atMs }: LoggedFailure): boolean {
    const { logged } = this;
    if (!logged) return true;
    const isChanged = impact !== logged.impact || reason !== logged.reason;
    return isChanged || atMs - logged.atMs >= SUMMARY_INTERVAL_MS;
  }

  private writeLine(reason: string, impact: CallerImpact): void {
    const { failures, subject } = this;
    const fields = { reason, failures, callersRefusedAt: findRefusalDate(impact) };
    if (impact.name === 'refused') {
      this.logger.error({ message: `${subject}: failed, callers are refused`, ...fields });
    } else {
      this.logger.warn({ message: `${subject}: failed, retrying`, ...fields });
    }
  }
}

function findRefusalDate(impact: CallerImpact): Date | undefined {
  if (impact.name === 'none') return undefined;
  if (impact.name === 'refused-later') return computeDate(impact.secondsLeft);
  return impact.secondsAgo === undefined ? undefined : computeDate(-impact.secondsAgo);
}

/** Returns the date in so many seconds. Returns undefined if it is too late for a Date: the log would show null. */
function computeDate(seconds: number): Date | undefined {
  const date = new Date(Date.now() + seconds * 1000);
  const isValid = !Number.isNaN(date.getTime());
  return isValid ? date : undefined;
}
