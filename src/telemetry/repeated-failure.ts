import { messageOf } from './error-message.js';
import type { Lines } from './log.js';

const SUMMARY_MS = 60_000;

/** Logs a failure that repeats: once at its start, once a minute while it lasts, and once at its end. */
export class RepeatedFailure {
  private logged = '';
  failures = 0; // in a row
  private loggedAt = 0;

  constructor(
    private readonly log: Lines,
    private readonly subject: string,
  ) {}

  /** @param callersRefusedAt when callers will be refused if it goes on. That this has begun is logged as well */
  failed(error: unknown, callersRefusedAt?: Date): void {
    const isRefusing = callersRefusedAt !== undefined && callersRefusedAt.getTime() <= Date.now();
    const outcome = isRefusing ? 'callers are refused' : 'trying on';
    const reason = messageOf(error);
    const failures = ++this.failures;
    const content = `${outcome}, ${callersRefusedAt !== undefined}, ${reason}`;
    if (this.logged === content && Date.now() - this.loggedAt < SUMMARY_MS) return;
    [this.logged, this.loggedAt] = [content, Date.now()];
    const line = { reason, failures, callersRefusedAt };
    this.log.write(isRefusing ? 'error' : 'warn', `${this.subject}: failed, ${outcome}`, line);
  }

  succeeded(): void {
    const { failures } = this;
    if (failures > 0) this.log.write('info', `${this.subject}: works again`, { failures });
    [this.logged, this.failures] = ['', 0];
  }
}
