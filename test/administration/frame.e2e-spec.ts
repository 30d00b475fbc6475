import { expect, it } from '@jest/globals';
import { createDatabase } from '../support/database.js';
import { ProgramCopy } from '../support/program-copy.js';
import { run } from '../support/program.js';

it.each(['migrate', 'keys', 'codes', 'doctor'])('%s --help says how it is typed', async (name) => {
  const stdout = expect.stringMatching(new RegExp(`^Usage:\n  node dist/${name}\\.js`));
  expect(await run(`${name}.js`, ['--help'], {})).toEqual({ status: 0, stdout, stderr: '' });
});

/** Settings of npm may come from a file: they are no options of the command. */
const npm = { npm_lifecycle_event: 'migrate', npm_config_yes: '', npm_config_json: 'true' };
const RULE = 'Without "--" npm takes options for its own and does not pass them on';

it.each<[string, RegExp, Record<string, string>?]>([
  ['keys', /^"" is not a command of keys: issue, .*\n$/],
  ['keys __proto__', /^"__proto__" is not a command of keys: .*\n$/],
  ['codes show --flag', /^Unknown option '--flag'\. Usage: node dist\/codes\.js .*\n$/],
  ['migrate new', /^There are too few words.*\. Usage: node dist\/migrate\.js new NAME.*\n$/],
  ['doctor now', /^There .* too many\. Usage: node dist\/doctor\.js.*\n$/],
  ['migrate plan', /^DATABASE_URL is not set: .*\n$/, npm],
  ['migrate plan --json', /^DATABASE_URL is not set: .*\n$/, npm],
  ['migrate down 1 --yes', /^DATABASE_URL is not set: .*\n$/, npm],
  ['migrate new x f.csv', new RegExp(`^There .* npm run migrate -- new .*\\. ${RULE}\\.\n$`), npm],
])('%s is refused in one sentence, with status 1', async (line, message, environment = {}) => {
  const [program, ...words] = line.split(' ');
  const stderr = expect.stringMatching(message);
  expect(await run(`${program}.js`, words, environment)).toEqual({ status: 1, stdout: '', stderr });
});

it('every command says and does the same whatever the database is set to', async () => {
  const copy = new ProgramCopy();
  copy.add('0100_list', `insert into code_list (name) values ('harmless');`);
  const databases = [await createDatabase(), await createDatabase()];
  for (const each of databases)
    await each.query(
      `create schema other; create table other.api_key (like public.api_key including all);
       create table other.communication_code (like public.communication_code);
       insert into communication_code values ('T', 'C', 'x', '2027-01-02T03:04:05Z', '2999-01-01Z');
       insert into api_key (id, client, key_hash, created_at, expires_at)
         values ('3f0c2a1e-8f57-4d0e-9a55-0c9f6a0c7d11', 'Acme', sha256('x'), '2020-01-01Z', '2999-01-01Z')`,
    );
  const spoilt = databases[1] as (typeof databases)[0];
  for (const setting of [
    ...[`datestyle = 'German'`, `timezone = 'Asia/Kathmandu'`, 'search_path = other, public'],
    ...[`default_transaction_isolation = 'serializable'`, 'default_transaction_read_only = on'],
    ...[`bytea_output = 'escape'`, `intervalstyle = 'sql_standard'`],
  ])
    await spoilt.query(`alter database ${spoilt.name} set ${setting}`);
  for (const line of [
    ...['keys list', 'codes export communication-codes', 'codes show --at 2027-06-01'],
    ...['migrate plan', 'migrate up', 'migrate drift', 'keys issue --client Acme --expires-in 1d'],
  ]) {
    const [plain, other] = await Promise.all(
      databases.map(async ({ url }) => {
        copy.environment = { DATABASE_URL: url };
        const [program = '', ...words] = line.split(' ');
        const { status, stdout, stderr } = await copy.start(program, ...words).ended;
        // Times, ids and keys of this run
        const text = stdout.replace(/\d{4}-\S+Z|ols_\S+|\b[-0-9a-f]{36}\b/g, '…');
        return { line, status, text, stderr };
      }),
    );
    expect(other).toEqual(plain);
    expect(plain).toMatchObject({ status: line === 'migrate drift' ? 2 : 0, stderr: '' });
  }
  const ends = `select expires_at - created_at = interval '1 day' as is_right
    from public.api_key where expires_at < '2900-01-01'`;
  expect(await spoilt.query(ends)).toEqual([{ is_right: true }]);
  expect(await spoilt.query('select from other.api_key')).toEqual([]);
  copy.remove();
  for (const database of databases) await database.drop();
});
