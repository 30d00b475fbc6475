import { expect, it } from '@jest/globals';
import { PASSWORD } from '../../../test/support/database.js';
import { testCopy } from '../../../test/support/test-copy.js';

const { copy, database } = await testCopy();

it('names what it applied, also where nobody can look at the database afterwards', async () => {
  const owner = `owner_${database.name.slice(-12)}`;
  await database.query(
    `create role ${owner} login password '${PASSWORD}' in role order_lookup_owner;
     alter database ${database.name} owner to ${owner}`,
  );
  copy.environment = { DATABASE_URL: database.urlOf(owner) };
  copy.add('0100_close', `alter database ${database.name} connection limit 0;`);
  const { status, stdout, stderr } = await copy.run('migrate', 'up');
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  const unusable = String.raw`The database .* cannot be used: .*[^.]\.`;
  const lines = [
    'applied  0100_close',
    `What is applied could not be looked at: ${unusable}`,
    `The codes could not be looked at: ${unusable}`,
    `Drift could not be looked for: ${unusable}`,
  ];
  expect(stdout).toMatch(new RegExp(`^${lines.join('\n')}\n$`));
  await database.query(`alter database ${database.name} owner to postgres; drop role ${owner}`);
});
