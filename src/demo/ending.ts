import { describeStartFailure } from '../configuration/start-error.js';
import type { DemoPostgres } from './demo-postgres.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The demo gets Ctrl-C twice, from the terminal and from npm: a signal within this time counts as the same. */
const SAME_SIGNAL_MS = 1_000;

/**
 * Ends the demo as a whole: on a signal, at any moment of its start, and after an error. The database is a process of
 * its own, which would go on otherwise. Another signal, a second later or more, ends everything at once.
 */
export class Ending {
  private readonly ends: (() => unknown)[] = [];
  private postgres: DemoPostgres | undefined;
  /** By the monotonic clock; undefined until the demo ends. */
  private endingSinceMs: number | undefined;

  /** Called before anything is started. */
  listen(): void {
    for (const signal of SIGNALS) process.on(signal, () => void this.onSignal());
    for (const event of ['uncaughtException', 'unhandledRejection'] as const)
      process.on(event, (error: unknown) => void this.fail(error));
    // A terminal that was closed: what is written is lost, and the signal ends the demo
    for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  }

  /** Awaits the start of the database. A signal waits for that, too: the server would be left behind otherwise. */
  async start(starting: Promise<void>, postgres: DemoPostgres): Promise<void> {
    this.postgres = postgres;
    this.add(async () => {
      await starting.catch(() => undefined);
      await postgres.stop();
    });
    await starting;
  }

  /** What was added last is ended first. */
  add(end: () => unknown): void {
    this.ends.push(end);
  }

  /** An error that comes while everything ends is ignored. */
  async fail(error: unknown): Promise<void> {
    if (this.endingSinceMs !== undefined) return;
    process.stderr.write(`${describeStartFailure(error)}\n`);
    await this.end(1);
  }

  private async onSignal(): Promise<void> {
    if (this.endingSinceMs === undefined) {
      await this.end(0);
      return;
    }
    if (performance.now() < this.endingSinceMs + SAME_SIGNAL_MS) return;
    this.postgres?.stopAtOnce();
    process.exit(130);
  }

  private async end(status: number): Promise<void> {
    this.endingSinceMs = performance.now();
    for (const end of this.ends.toReversed()) {
      try {
        await end();
      } catch (error) {
        process.stderr.write(`${describeStartFailure(error)}\n`); // the others are ended nevertheless
      }
    }
    process.exit(status);
  }
}
