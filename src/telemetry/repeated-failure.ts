import { messageOf } from './error-message.js';
import type { Log } from './log.js';

const SUMMARY_MS = 60_000;

/** Logs a failure that repeats: once at its start, once a minute while it lasts, and once at its end. */
export class RepeatedFailure {
  private said = '';
  private failures = 0;
  private saidAt = 0;

  constructor(
    private readonly log: Log,
    private readonly subject: string,
  ) {}

  /** @param callersRefusedAt when callers will be refused if it goes on. That this has begun is told as well */
  failed(error: unknown, callersRefusedAt?: Date): void {
    const isRefusing = callersRefusedAt !== undefined && callersRefusedAt.getTime() <= Date.now();
    const outcome = isRefusing ? 'callers are refused' : 'trying on';
    const reason = messageOf(error);
    const failures = ++this.failures;
    const saying = `${outcome}, ${callersRefusedAt !== undefined}, ${reason}`;
    if (this.said === saying && Date.now() - this.saidAt < SUMMARY_MS) return;
    [this.said, this.saidAt] = [saying, Date.now()];
    const line = { reason, failures, callersRefusedAt };
    this.log[isRefusing ? 'error' : 'warn'](line, `${this.subject}: failed, ${outcome}`);
  }

  succeeded(): void {
    const { failures } = this;
    if (failures > 0) this.log.info({ failures }, `${this.subject}: works again`);
    [this.said, this.failures] = ['', 0];
  }
}
