// The program of `npm start`. It runs the demo, with a database and an issuer of its own. If DATABASE_URL, an OAUTH_
// variable or NODE_ENV=production is set, it runs the service as in production, which reports missing variables.
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

/** Runs the demo until a signal or an error. Then it ends all parts, also in the middle of the start. */
async function runDemo(): Promise<void> {
  /** The functions that end the parts, in the order in which the parts were started. */
  const ends: (() => Promise<unknown>)[] = [];
  let endingSinceMs: number | undefined;

  async function end(status: number): Promise<void> {
    endingSinceMs = performance.now();
    // The last part first: each part needs those that were started before
    for (const endOne of ends.toReversed()) {
      try {
        await endOne();
      } catch (error) {
        process.stderr.write(`${describeStartFailure(error)}\n`); // only reported, so that the other parts end, too
      }
    }
    process.exit(status);
  }

  async function fail(error: unknown): Promise<void> {
    if (endingSinceMs !== undefined) return; // during the end a part may fail because another part has ended
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
  // After the terminal was closed, a write fails. SIGHUP then ends the demo, so the failure is ignored
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  try {
    const { startDemo } = await import('./demo.js');
    await startDemo((endOne) => void ends.push(endOne));
  } catch (error) {
    await fail(error);
  }
}
