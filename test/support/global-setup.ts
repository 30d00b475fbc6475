import { isBuilt } from '../../scripts/build.mjs';
import { exemptFromProxy } from '../../src/configuration/loopback.ts';
import { findStartRemedy } from '../../src/demo/postgres-failures.ts';
import { toMessage } from '../../src/telemetry/error-message.ts';
import { startMigratedPostgres } from './migrated-postgres.ts';
import { TestRun } from './test-run.ts';

/** Starts one PostgreSQL for all test files. Each file gets a copy of its migrated database. */
export default async function globalSetup(): Promise<void> {
  try {
    await startRun();
  } catch (error) {
    if (error instanceof TypeError) throw error; // the program is faulty, so its stack is needed
    const sentence = toMessage(error).replace(/\.?$/, '.');
    console.error(`The tests cannot start: ${sentence} ${findStartRemedy(sentence) ?? ''}`); // Jest would print a stack
    process.exit(1);
  }
}

async function startRun(): Promise<void> {
  avoidProxies();
  delete process.env['npm_lifecycle_event']; // if npm set it, messages would name `npm run …`, not `node dist/…`
  if (process.env['E2E_BASE_URL']) return;
  if (!isBuilt()) throw new Error('dist/ was not made from this src/. Build it: npm run build.');
  const run = TestRun.start();
  Object.assign(globalThis, { testRun: run });
  process.env['TMPDIR'] = run.folder;
  process.env['TEST_POSTGRES_URL'] = (await startMigratedPostgres()).url;
}

/** Makes Jest's workers connect without a proxy, because tests call only this machine. */
function avoidProxies(): void {
  delete process.env['NODE_USE_ENV_PROXY'];
  // Jest runs a single test file in this process, which has read NODE_USE_ENV_PROXY already. So hosts are exempted, too
  for (const host of ['127.0.0.1', 'localhost', '[::1]']) exemptFromProxy(host);
}
