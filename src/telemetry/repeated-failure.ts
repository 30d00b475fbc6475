import { messageOf } from './error-message.js';
import type { ServiceLogger } from './service-logger.js';

const SUMMARY_INTERVAL_MS = 60_000;

/** Logs a failure that repeats: when it begins or changes, once a minute while it lasts, and when it has ended. */
export class RepeatedFailure {
  /** How many in a row. */
  failures = 0;
  private loggedText = '';
  private loggedAtMs = 0;

  constructor(
    private readonly logger: Pick<ServiceLogger, 'log' | 'warn' | 'error'>,
    private readonly subject: string,
  ) {}

  /** @param callersRefusedAt when callers will be refused if it goes on. That this has begun is logged as well */
  failed(error: unknown, callersRefusedAt?: Date): void {
    this.failures += 1;
    const nowMs = Date.now();
    const isRefusing = callersRefusedAt !== undefined && callersRefusedAt.getTime() <= nowMs;
    const outcome = isRefusing ? 'callers are refused' : 'trying on';
    const reason = messageOf(error);
    const text = `${outcome}, ${callersRefusedAt !== undefined}, ${reason}`;
    const isRecent = nowMs - this.loggedAtMs < SUMMARY_INTERVAL_MS;
    if (text === this.loggedText && isRecent) return;
    this.loggedText = text;
    this.loggedAtMs = nowMs;
    const message = `${this.subject}: failed, ${outcome}`;
    const entry = { message, reason, failures: this.failures, callersRefusedAt };
    if (isRefusing) this.logger.error(entry);
    else this.logger.warn(entry);
  }

  succeeded(): void {
    const { failures, subject } = this;
    if (failures === 0) return;
    this.logger.log({ message: `${subject}: works again`, failures });
    this.failures = 0;
    this.loggedText = '';
  }
}
