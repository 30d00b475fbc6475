import { Injectable } from '@nestjs/common';
import { Metrics } from '../telemetry/metrics.js';

/**
 * Whether the database answers. Several parts of the service poll it, each in a session of its own. It answers as long
 * as one of them got an answer to its last poll. Whether the content can then be read and served does not matter.
 */
@Injectable()
export class DatabaseStatus {
  /** Whether the last poll was answered, by the name of the part that polled. */
  private readonly isAnsweredByPart = new Map<string, boolean>();

  constructor(metrics: Metrics) {
    metrics.addGauge({
      name: 'database_up',
      help: '1 while the database answers',
      collect: (gauge) => gauge.set(this.isUp ? 1 : 0),
    });
  }

  /** Before the first answer the database counts as away. */
  get isUp(): boolean {
    return [...this.isAnsweredByPart.values()].includes(true);
  }

  answered(part: string): void {
    this.isAnsweredByPart.set(part, true);
  }

  unanswered(part: string): void {
    this.isAnsweredByPart.set(part, false);
  }
}
