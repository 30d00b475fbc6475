// `npm start`: without configuration the demo with its own database and issuer, otherwise the service as in production,
// which reports missing variables.
import 'reflect-metadata';
import { INTERRUPTED, SAME_SIGNAL_MS } from '../bootstrap/process-end.js';
import { describeStartFailure } from '../configuration/start-error.js';

const isInProduction = process.env['NODE_ENV'] === 'production';
const ofTheService = Object.keys(process.env).filter(
  (name) => process.env[name] && /^(?:DATABASE_URL|DATABASE_URL_FILE|OAUTH_\w+)$/.test(name),
);
const reasons = isInProduction ? [...ofTheService, 'NODE_ENV'] : ofTheService;

if (reasons.length > 0) await runService();
else await runDemo();

async function runService(): Promise<void> {
  const verb = reasons.length > 1 ? 'are' : 'is';
  process.stderr.write(
    `${reasons.join(', ')} ${verb} set, so this is the service and not the demo. ` +
      `For the demo: unset ${reasons.join(' ')}, here and in .env\n`,
  );
  await import('../main.js');
}

/** Ends the demo as a whole: on a signal, at any moment of its start, and after an error. */
async function runDemo(): Promise<void> {
  /** What was started, each with what ends it. */
  const ends: (() => Promise<unknown>)[] = [];
  let endingSinceMs: number | undefined;

  async function end(status: number): Promise<void> {
    endingSinceMs = performance.now();
    // What was started last needs the others
    for (const endOne of ends.toReversed()) {
      try {
        await endOne();
      } catch (error) {
        process.stderr.write(`${describeStartFailure(error)}\n`); // the others are ended nevertheless
      }
    }
    process.exit(status);
  }

  async function fail(error: unknown): Promise<void> {
    if (endingSinceMs !== undefined) return; // what was started last fails where the first is ended
    process.stderr.write(`${describeStartFailure(error)}\n`);
    await end(1);
  }

  function onSignal(): void {
    if (endingSinceMs === undefined) void end(0);
    else if (performance.now() > endingSinceMs + SAME_SIGNAL_MS) process.exit(INTERRUPTED);
  }

  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
  for (const event of ['uncaughtException', 'unhandledRejection'] as const)
    process.on(event, (error: unknown) => void fail(error));
  // A terminal that was closed: what is written is lost, and the signal ends the demo
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  try {
    const { startDemo } = await import('./demo.js');
    await startDemo((endOne) => void ends.push(endOne));
  } catch (error) {
    await fail(error);
  }
}
