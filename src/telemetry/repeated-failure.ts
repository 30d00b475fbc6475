import { toMessage } from './error-message.js';
import type { ServiceLogger } from './service-logger.js';

const SUMMARY_INTERVAL_MS = 60_000;

/** The effect of a lasting failure on callers. `secondsAgo` is undefined if it is not known when refusals began. */
export type CallerImpact =
  | { readonly callers: 'unaffected' }
  | { readonly callers: 'refused-later'; readonly secondsLeft: number }
  | { readonly callers: 'refused'; readonly secondsAgo?: number };

/** @param secondsLeft the seconds until callers are refused; 0 or less if callers are refused already */
export function toCallerImpact(secondsLeft: number): CallerImpact {
  if (secondsLeft <= 0) return { callers: 'refused', secondsAgo: -secondsLeft };
  return { callers: 'refused-later', secondsLeft };
}

interface LoggedFailure {
  readonly callers: CallerImpact['callers'];
  readonly reason: string;
  readonly atMonotonicMs: number;
}

/**
 * Logs a failure when it begins, once a minute while it lasts, when its reason or impact changes, and when it ends.
 * Call `noteFailure` or `noteSuccess` after each attempt.
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

  /** If the error's message is different at each attempt, for example because of a time, each attempt writes a line. */
  noteFailure(error: unknown, impact: CallerImpact): void {
    this.failures += 1;
    this.lastReason = toMessage(error);
    const failure = { callers: impact.callers, reason: this.lastReason, atMonotonicMs: performance.now() };
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

  private isWorthALine({ callers, reason, atMonotonicMs }: LoggedFailure): boolean {
    const { logged } = this;
    if (!logged) return true;
    const isChanged = callers !== logged.callers || reason !== logged.reason;
    return isChanged || atMonotonicMs - logged.atMonotonicMs >= SUMMARY_INTERVAL_MS;
  }

  private writeLine(reason: string, impact: CallerImpact): void {
    const { failures, subject } = this;
    const fields = { reason, failures, callersRefusedAt: findRefusalDate(impact) };
    if (impact.callers === 'refused') {
      this.logger.error({ message: `${subject}: failed, callers are refused`, ...fields });
    } else {
      this.logger.warn({ message: `${subject}: failed, retrying`, ...fields });
    }
  }
}

function findRefusalDate(impact: CallerImpact): Date | undefined {
  if (impact.callers === 'unaffected') return undefined;
  if (impact.callers === 'refused-later') return computeDate(impact.secondsLeft);
  return impact.secondsAgo === undefined ? undefined : computeDate(-impact.secondsAgo);
}

/** Returns the date after a number of seconds; undefined if it is outside the range of a Date. */
function computeDate(seconds: number): Date | undefined {
  const date = new Date(Date.now() + seconds * 1000);
  const isValid = !Number.isNaN(date.getTime());
  return isValid ? date : undefined;
}
