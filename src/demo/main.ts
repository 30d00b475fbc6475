// The program of `npm start`. It runs the demo, with a database and an issuer of its own. If DATABASE_URL, an OAUTH_
// variable or NODE_ENV=production is set, it runs the service itself, as in production.
import 'reflect-metadata';
import { INTERRUPTED, SAME_SIGNAL_MS } from '../bootstrap/process-end.js';
import { describeStartFailure } from '../configuration/start-error.js';

const isInProduction = process.env['NODE_ENV'] === 'production';
const serviceVariables = Object.keys(process.env).filter(
  (name) => process.env[name] && /^(?:DATABASE_URL|DATABASE_URL_FILE|OAUTH_\w+)$/.test(name),
);
const reasons = isInProduction ? [...serviceVariables, 'NODE_ENV'] : serviceVariables;

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

/** Runs the demo until a signal or an error, which may come during the start. Then stops what has started. */
async function runDemo(): Promise<void> {
  /** The functions that stop the parts, in the order in which the parts were started. */
  const stops: (() => Promise<unknown>)[] = [];
  let endingSinceMs: number | undefined;

  async function end(status: number): Promise<void> {
    endingSinceMs = performance.now();
    // The last part first, because each part needs the parts that were started before it
    for (const stop of stops.toReversed()) {
      try {
        await stop();
      } catch (error) {
        process.stderr.write(`${describeStartFailure(error)}\n`); // the other parts must be stopped, too
      }
    }
    process.exit(status);
  }

  async function fail(error: unknown): Promise<void> {
    if (endingSinceMs !== undefined) return; // a part may fail because another part was stopped
    process.stderr.write(`${describeStartFailure(error)}\n`);
    await end(1);
  }

  function onSignal(): void {
    if (endingSinceMs === undefined) return void end(0);
    const isSameCtrlC = performance.now() <= endingSinceMs + SAME_SIGNAL_MS; // the terminal and npm both send a signal
    if (!isSameCtrlC) process.exit(INTERRUPTED);
  }

  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
  for (const event of ['uncaughtException', 'unhandledRejection'] as const)
    process.on(event, (error: unknown) => void fail(error));
  // If the terminal is closed, writing fails. SIGHUP ends the demo then, so the error is ignored
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  try {
    const { startDemo } = await import('./demo.js');
    await startDemo((stop) => void stops.push(stop));
  } catch (error) {
    await fail(error);
  }
}
