import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { queryAt } from '../support/database.js';
import { localWorld } from '../support/local-world.js';
import { PATHS } from '../support/paths.js';
import { useTestFolder } from '../support/test-folder.js';
import { until } from '../support/until.js';

const world = localWorld({ replicas: 0 });
const urlFile = join(useTestFolder(), 'database-url');
/** Returns the name of a role that only this test file uses: all test files share the roles of the server. */
const role = (): string => `reader_of_${world.database.name}`;

const setPassword = (password: string) => world.database.query(`alter role ${role()} password '${password}'`);
function writeUrlFile(password: string): void {
  writeFileSync(urlFile, Object.assign(new URL(world.database.url), { username: role(), password }).href);
}
const endSessionsOfRole = () =>
  world.database.query('select pg_terminate_backend(pid) from pg_stat_activity where usename = $1', [role()]);

beforeAll(() => world.database.query(`create role ${role()} login in role order_lookup_service`));
beforeEach(async () => {
  await setPassword('first');
  writeUrlFile('first');
});
// The hook of localWorld runs first. It stops the service, so the role has no session any more
afterAll(() => queryAt(process.env['TEST_POSTGRES_URL'] ?? '', `drop role ${role()}`));

it('after a rotation, the next connection uses the new password of DATABASE_URL_FILE', async () => {
  const service = await world.startReadyReplica({ DATABASE_URL: '', DATABASE_URL_FILE: urlFile });
  await setPassword('second');
  writeUrlFile('second');
  await endSessionsOfRole();
  await world.database.addValue('Rotated');
  await until(async () => {
    const { text } = await world.get(PATHS.orderUpdate, { service });
    return text.includes('Rotated');
  });
  expect(service.output).not.toContain('password authentication failed');
});

it('if DATABASE_URL_FILE cannot be used, the service warns and tries the former password', async () => {
  const service = await world.startReadyReplica({ DATABASE_URL: '', DATABASE_URL_FILE: urlFile });
  await setPassword('second');
  writeFileSync(urlFile, 'postgres://u:s3cr/et@db/x');
  await endSessionsOfRole();
  await service.waitForLog(({ msg }) => msg === 'the password of the database cannot be read again');
  await service.waitForLog(
    ({ msg, reason }) =>
      msg.startsWith('database (keys): failed') && String(reason).includes('password authentication failed'),
  );
  expect(service.output).not.toMatch(/s3cr|et@db/);
  writeUrlFile('second');
  await service.waitForLog(({ msg }) => msg === 'database (keys): works again');
});
