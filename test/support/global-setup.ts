import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { exemptFromProxy } from '../../src/configuration/loopback.ts';
import { startMigratedPostgres } from './migrated-postgres.ts';
import { TestRun } from './test-run.ts';

/** One PostgreSQL for all test files, with a migrated database that each file gets a copy of. */
export default async function globalSetup(): Promise<void> {
  avoidProxies();
  if (process.env['E2E_BASE_URL']) return;
  if (findNewest('dist') < findNewest('src'))
    throw new Error('dist/ is older than src/, and the tests start dist/: npm run build');
  const run = TestRun.start();
  Object.assign(globalThis, { testRun: run });
  process.env['TMPDIR'] = run.folder;
  process.env['TEST_POSTGRES_URL'] = (await startMigratedPostgres()).url;
}

/** Tests ask this machine only. Workers inherit this; for its own process Node.js has read the first already. */
function avoidProxies(): void {
  delete process.env['NODE_USE_ENV_PROXY'];
  for (const host of ['127.0.0.1', 'localhost', '[::1]']) exemptFromProxy(host);
}

/** When the newest file below a folder was written, be it a source or an asset; unit tests are not built. */
function findNewest(folder: string): number {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !entry.name.includes('.spec.'));
  return Math.max(...files.map(({ parentPath, name }) => statSync(join(parentPath, name)).mtimeMs));
}
