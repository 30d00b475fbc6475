import { toMessage } from './error-message.js';
import type { ServiceLogger } from './service-logger.js';

const SUMMARY_INTERVAL_MS = 60_000;

/**
 * What a failure that goes on means for callers:
 * - `none`: callers are never refused because of it.
 * - `refused-later`: callers are refused from a later time on.
 * - `refused`: callers are refused already; since some time, or because nothing could be served from the start.
 */
export type CallerImpact =
  | { readonly name: 'none' }
  | { readonly name: 'refused-later'; readonly secondsLeft: number }
  | { readonly name: 'refused'; readonly secondsAgo?: number };

/**
 * The impact where callers are refused from a time on.
 * @param secondsLeft how long it is until then; negative if that time has passed
 */
export function toCallerImpact(secondsLeft: number): CallerImpact {
  if (secondsLeft <= 0) return { name: 'refused', secondsAgo: -secondsLeft };
  return { name: 'refused-later', secondsLeft };
}

/** What the last line said. */
interface LoggedFailure {
  readonly impact: CallerImpact['name'];
  readonly reason: string;
  /** By the monotonic clock. */
  readonly atMs: number;
}

/**
 * Logs a failure that repeats: when it begins, when its reason or its impact changes, once a minute while it lasts, and
 * when it has ended. Call `noteFailure` after each attempt that failed, and `noteSuccess` after each one that succeeded. The
 * message of an error may hold nothing that differs in each attempt: each would be a line.
 */
export class RepeatedFailure {
  private failures = 0;
  private lastReason: string | undefined;
  private logged: LoggedFailure | undefined;

  constructor(
    private readonly logger: Pick<ServiceLogger, 'log' | 'warn' | 'error'>,
    private readonly subject: string,
  ) {}

  /** How many attempts have failed since the last one that succeeded. */
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

  /** Logs that the subject works again, if the attempt before failed. */
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

/** The time from which on callers are refused, if there is one. */
function findRefusalDate(impact: CallerImpact): Date | undefined {
  if (impact.name === 'none') return undefined;
  if (impact.name === 'refused-later') return addSeconds(impact.secondsLeft);
  return impact.secondsAgo === undefined ? undefined : addSeconds(-impact.secondsAgo);
}

/** Undefined for a time that is too far away for a Date, which would be null in the log. */
function addSeconds(seconds: number): Date | undefined {
  const date = new Date(Date.now() + seconds * 1000);
  const isValid = !Number.isNaN(date.getTime());
  return isValid ? date : undefined;
}
