import { readdirSync, statSync } from 'node:fs';
import { startMigratedPostgres } from './migrated-postgres.ts';

/** One PostgreSQL for all test files, with a migrated database that each file gets a copy of. */
export default async function globalSetup(): Promise<void> {
  if (process.env['E2E_BASE_URL']) return;
  if (newest('dist', '.js') < newest('src', '.ts'))
    throw new Error('dist/ is older than src/, and the tests start dist/: npm run build');
  const server = await startMigratedPostgres();
  Object.assign(globalThis, { postgresServer: server });
  process.env['TEST_POSTGRES_URL'] = server.url;
}

/** When the newest file of a kind was written; unit tests are not built. */
function newest(folder: string, kind: string): number {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const ofKind = files.filter((name) => name.endsWith(kind) && !name.endsWith(`.spec${kind}`));
  return Math.max(...ofKind.map((name) => statSync(`${folder}/${name}`).mtimeMs));
}
