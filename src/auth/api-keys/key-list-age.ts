import { Inject, Injectable } from '@nestjs/common';
import { Configuration } from '../../configuration/configuration.js';
import { LOG, type Log } from '../../telemetry/log.js';
import { Metrics } from '../../telemetry/metrics.js';

/** After so many seconds without an answer of the database its outage is told. */
const OUTAGE_SECONDS = 5;

/** Tells the operator when callers will be refused because the database does not confirm the list of keys, and when that has begun. */
@Injectable()
export class KeyListAge {
  private state: 'confirmed' | 'unconfirmed' | 'too old' = 'confirmed';

  constructor(
    private readonly configuration: Configuration,
    private readonly metrics: Metrics,
    @Inject(LOG) private readonly log: Log,
  ) {}

  /** @param age seconds since the database confirmed the list; Infinity if there is none */
  note(age: number): void {
    if (age === Infinity) return;
    const left = this.configuration.API_KEY_MAX_AGE_SECONDS - age;
    this.metrics.secondsUntilRefusal.set({ what: 'keys' }, left);
    const state = left <= 0 ? 'too old' : age > OUTAGE_SECONDS ? 'unconfirmed' : 'confirmed';
    if (state === this.state) return;
    this.state = state;
    const callersRefusedAt = new Date(Date.now() + left * 1000).toISOString();
    if (state === 'unconfirmed')
      this.log.warn({ callersRefusedAt }, 'API keys: unconfirmed, callers will be refused');
    else if (state === 'too old') this.log.error('API keys: too old, callers are refused');
    else this.log.info('API keys: confirmed again');
  }
}
