import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type TestDatabase, createDatabase } from '../support/database.js';
import { runLine } from '../support/local-program.js';
import { type Outcome, endOf, shell } from '../support/program.js';
import { useProgramCopy } from '../support/project-copy.js';
import { Proxy } from '../support/proxy.js';

const { copy, database: plainDatabase } = await useProgramCopy();
const KEY_ID = '3f0c2a1e-8f57-4d0e-9a55-0c9f6a0c7d11';

function run(line: string, environment: Record<string, string> = {}): Promise<Outcome> {
  return runLine(line, environment, copy.folder);
}

it.each(['migrate', 'keys', 'codes', 'doctor'])('%s --help shows how the command is typed', async (name) => {
  expect(await run(`${name} --help`)).toEqual({
    status: 0,
    stdout: expect.stringMatching(new RegExp(`^Usage: node dist/${name}\\.js`)),
    stderr: '',
  });
});

it.each([
  { line: 'migrate status', sentence: 'status 1 if an applied migration has no file' },
  { line: 'migrate plan', sentence: 'status 2 if they can break clients' },
  { line: 'migrate drift', sentence: 'status 2 if there are any' },
  { line: 'migrate drift', sentence: 'by default the changes of the last 90 days' },
  { line: 'migrate down', sentence: 'from 1 to 9999 (default: 1)' },
  { line: 'keys rotate', sentence: '(default: "7 days")' },
  { line: 'codes show', sentence: 'such as 2027-01-01T00:00:00Z, or 2027-01-01 for the beginning of that day in UTC' },
  { line: 'doctor', sentence: 'The status is 2 if there is a fault.' },
  { line: 'doctor', sentence: `printf '%s\\n' "$KEY" "$TOKEN" | node dist/doctor.js -` },
])('$line --help says: $sentence', async ({ line, sentence }) => {
  const { stdout } = await run(`${line} --help`);
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain(sentence);
});

it.each([
  { line: 'migrate check', usage: '[options]', options: [] },
  { line: 'migrate down', usage: '[options] [COUNT]', options: ['--yes', '--full'] },
  { line: 'migrate drift', usage: '[options]', options: ['--since <DATE>'] },
  { line: 'migrate new', usage: '[options] <NAME>', options: ['--from <FILE.csv>', '--complete'] },
  { line: 'migrate plan', usage: '[options]', options: ['--full', '--json'] },
  { line: 'migrate status', usage: '[options]', options: [] },
  { line: 'migrate up', usage: '[options]', options: [] },
  { line: 'keys issue', usage: '[options]', options: ['--client <NAME>', '--expires-in <TIME>', '--json'] },
  { line: 'keys list', usage: '[options]', options: ['--client <NAME>', '--expiring <TIME>', '--json'] },
  { line: 'keys rotate', usage: '[options] <KEY_ID>', options: ['--overlap <TIME>', '--json'] },
  { line: 'keys revoke', usage: '[options] <KEY_ID>', options: [] },
  { line: 'codes show', usage: '[options]', options: ['--at <TIME>', '--area <AREA>'] },
  { line: 'codes export', usage: '[options] <LIST>', options: [] },
])('$line --help shows the options of the command', async ({ line, usage, options }) => {
  const { status, stdout, stderr } = await run(`${line} --help`);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  const [program = '', command = ''] = line.split(' ');
  expect(stdout).toContain(`Usage: node dist/${program}.js ${command} ${usage}\n`);
  const shown = Array.from(stdout.matchAll(/^ {2}(--[\w-]+(?: <\S+>)?) {2}/gm), ([, flags]) => flags);
  expect(shown).toEqual(options);
});

describe('a command that cannot run prints one line on standard error, and ends with status 1:', () => {
  it.each([
    { line: 'keys', sentence: /^a command is missing: issue, .*\. Usage: node dist\/keys\.js .*\n$/ },
    { line: 'keys __proto__', sentence: /^unknown command '__proto__'\. Usage: node dist\/keys\.js .*\n$/ },
    {
      line: 'codes show --flag',
      sentence: /^unknown option '--flag'\. Usage: node dist\/codes\.js show .*\n$/,
    },
    {
      line: 'migrate new',
      sentence: /^missing required argument 'NAME'\. Usage: node dist\/migrate\.js new .*\n$/,
    },
    {
      line: 'codes export foo',
      sentence: /^value 'foo' is invalid for argument 'LIST'\. Allowed choices are .*\. Usage: .*\n$/,
    },
    {
      line: 'migrate down 0',
      sentence:
        /^value '0' is invalid for argument 'COUNT'\. Write a number from 1 to 9999, .* Usage: .* down \[options\] \[COUNT\]\n$/,
    },
    {
      line: 'codes show --at 2027\u00a0', // an invisible character that was copied with the time
      sentence: /^option '--at <TIME>' argument '2027\\u00a0' is invalid\. .*\n$/,
    },
    { line: 'doctor now', sentence: /^"now" is not known\. Write - to read credentials from standard input\.\n$/ },
  ])('$line', async ({ line, sentence }) => {
    const stderr = expect.stringMatching(sentence);
    expect(await run(line)).toEqual({ status: 1, stdout: '', stderr });
  });

  /** The variable by which a command knows that npm has started it. */
  const ofNpm = { npm_lifecycle_event: 'migrate' };
  it.each([
    {
      line: 'migrate plan',
      sentence: /^DATABASE_URL is not set: .* To use the database of the demo, run: \. \.data\/demo\.env\n$/,
    },
    { line: 'migrate plan --json', sentence: /^DATABASE_URL is not set: .*\n$/ },
    { line: 'migrate down 1 --yes', sentence: /^DATABASE_URL is not set: .*\n$/ },
    {
      line: 'migrate new x f.csv',
      sentence:
        /^too many .* Usage: npm run migrate -- new .*\. Without "--", npm reads the options itself and .*\.\n$/,
    },
    { line: 'migrate plan --flag', sentence: /^unknown option '--flag'\. Usage: npm run migrate -- plan [^.]*\n$/ },
  ])('npm run $line', async ({ line, sentence }) => {
    const stderr = expect.stringMatching(sentence);
    const [program = '', ...words] = line.split(' ');
    copy.environment = ofNpm;
    expect(await endOf(copy.start(program, ...words))).toEqual({ status: 1, stdout: '', stderr });
  });
});

describe('a command does not take a setting of npm for its own option:', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createDatabase();
  });
  afterAll(() => database.drop());

  it.each([
    {
      line: 'migrate plan',
      setting: 'npm_config_json',
      result: { status: 0, stdout: expect.not.stringMatching(/^\{/) },
    },
    {
      line: 'migrate down',
      setting: 'npm_config_yes',
      result: { status: 1, stderr: expect.stringMatching(/add --yes/) },
    },
  ])('$line with $setting=true', async ({ line, setting, result }) => {
    const [program = '', ...words] = line.split(' ');
    copy.environment = { DATABASE_URL: database.url, npm_lifecycle_event: program, [setting]: 'true' };
    expect(await endOf(copy.start(program, ...words))).toMatchObject(result);
  });
});

describe('if the reader closes the output early', () => {
  /** With these codes, `migrate plan --full` and `migrate drift` print more than the buffer of a pipe can contain. */
  const insertCodes = `insert into communication_code select 'T', n, 'x' from generate_series(1, 5000) n;`;
  const deleteCodes = `delete from communication_code where code_type = 'T';`;
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createDatabase();
    await database.query(insertCodes);
  });
  afterAll(() => database.drop());

  it.each([
    { line: 'migrate plan --full', reader: 'head -n 1', status: 2 }, // the plan can break clients
    { line: 'migrate drift', reader: 'head -n 1', status: 2 }, // codes were changed by hand
    { line: 'doctor', reader: 'true', status: 2 }, // no issuer is configured
  ])('$line keeps its status', async ({ line, reader, status }) => {
    copy.add('0100_delete', deleteCodes, insertCodes);
    expect(await pipe(line, reader)).toMatchObject({ status: 0, stderr: `status ${status}\n` });
  });

  it('migrate down still undoes the migration', async () => {
    copy.add('0100_delete', deleteCodes, insertCodes);
    expect(await run('migrate up', { DATABASE_URL: database.url })).toMatchObject({ status: 0, stderr: '' });
    expect(await pipe('migrate down --yes', 'true')).toMatchObject({ status: 0, stderr: 'status 0\n' });
    expect(await database.query('select from communication_code')).toHaveLength(5_000);
  });

  /** Pipes a command into a reader in a shell. The shell prints the status of the command on standard error. */
  function pipe(line: string, reader: string): Promise<Outcome> {
    const [program = '', ...words] = line.split(' ');
    const command = `"${process.execPath}" dist/${program}.js ${words.join(' ')}`;
    const text = `{ ${command}; echo "status $?" >&2; } | ${reader}`;
    return shell(text, copy.folder, { DATABASE_URL: database.url });
  }
});

describe('each command opens one session:', () => {
  let database: TestDatabase;
  let proxy: Proxy;
  beforeAll(async () => {
    database = await createDatabase();
    await fill(database);
    proxy = await Proxy.before(database.url);
  });
  // `migrate up` applies this file, and `migrate down` undoes it. The files of the copy are reset after each test
  beforeEach(() => {
    copy.add('0100_list', `insert into code_list (name) values ('one');`, `delete from code_list where name = 'one';`);
  });
  afterAll(async () => {
    proxy.close();
    await database.drop();
  });

  it.each([
    'migrate status',
    'migrate plan',
    'migrate up',
    'migrate down --yes',
    'migrate drift',
    'keys list',
    `keys revoke ${KEY_ID}`,
    'codes show',
    'codes export communication-codes',
    'doctor',
  ])('%s', async (line) => {
    const before = proxy.connectionCount;
    expect(await run(line, { DATABASE_URL: proxy.url })).toMatchObject({ stderr: '' }); // the command is not refused
    expect(proxy.connectionCount - before).toBe(1);
  });
});

it('a command does the same if the database has unusual settings, and the schema public has foreign functions', async () => {
  copy.add(
    '0100_list',
    `insert into code_list (name) values ('harmless');`,
    `delete from code_list where name = 'harmless';`,
  );
  const unusual = await createDatabase();
  for (const database of [plainDatabase, unusual]) await fill(database);
  await addUnusualSettings(unusual);
  await addForeignFunctions(unusual);

  for (const { line, status = 0 } of [
    { line: 'keys list' },
    { line: 'codes export communication-codes' },
    { line: 'codes show --at 2027-06-01' },
    { line: 'migrate check' },
    { line: 'migrate status' },
    { line: 'migrate plan' },
    { line: 'migrate drift', status: 2 }, // `fill` has changed codes by hand
    { line: 'migrate up' },
    { line: 'migrate down 1 --yes' },
    { line: 'keys issue --client Issued --expires-in 1d' },
    { line: `keys rotate ${KEY_ID}` },
    { line: `keys revoke ${KEY_ID}` },
    { line: 'doctor', status: 2 }, // no issuer is configured
  ]) {
    const expected = { line, ...(await runComparably(line, plainDatabase)) };
    expect(expected).toMatchObject({ status, stderr: '' });
    expect({ line, ...(await runComparably(line, unusual)) }).toEqual(expected);
  }
  const lifetime = `select expires_at - created_at = interval '1 day' as "isRight"
    from public.api_key where client = 'Issued'`;
  expect(await unusual.query(lifetime)).toEqual([{ isRight: true }]);
  expect(await unusual.query('select from other.api_key')).toEqual([]);
  await unusual.drop();

  /** Returns the outcome without the times, ids and keys of this run, and without the database's name. */
  async function runComparably(line: string, { url, name }: TestDatabase): Promise<Outcome> {
    const { status, stdout, stderr } = await run(line, { DATABASE_URL: url });
    const text = stdout.replaceAll(name, '…').replaceAll(/\d{4}-\S+Z|\d{14}_|ols_\S+|\b[-0-9a-f]{36}\b/g, '…');
    return { status, stdout: text, stderr };
  }
});

/** Inserts rows, and creates a schema `other` whose tables have the names of our tables. */
async function fill(database: TestDatabase): Promise<void> {
  await database.query(
    `create schema other; create table other.api_key (like public.api_key including all);
     create table other.communication_code (like public.communication_code);
     insert into communication_code values ('T', 'C', 'x', '2027-01-02T03:04:05Z', '2999-01-01Z');
     insert into api_key (id, client, key_hash, created_at, expires_at)
       values ('${KEY_ID}', 'Acme', sha256('x'), '2020-01-01Z', '2999-01-01Z')`,
  );
}

async function addUnusualSettings({ name, query }: TestDatabase): Promise<void> {
  for (const setting of [
    `datestyle = 'German'`,
    `timezone = 'Asia/Kathmandu'`,
    'search_path = other, public',
    `default_transaction_isolation = 'serializable'`,
    'default_transaction_read_only = on',
    `bytea_output = 'escape'`,
    `intervalstyle = 'sql_standard'`,
  ])
    await query(`alter database ${name} set ${setting}`);
}

/** Adds functions and operators that fail. PostgreSQL prefers them to its own, because their types fit exactly. */
async function addForeignFunctions({ query }: TestDatabase): Promise<void> {
  for (const foreign of [
    'format(text, text, text, text, text, text, text) returns text',
    'concat_ws(text, text, text, text) returns text',
    'concat_ws(text, uuid, text, int) returns text',
    'concat_ws(text, jsonb, jsonb) returns text',
    'to_jsonb(timestamp) returns jsonb',
    'unnest(text[]) returns setof text',
    'unnest(int[]) returns setof int',
    'unnest(jsonb[]) returns setof jsonb',
    'has_table_privilege(regclass, text) returns boolean',
  ])
    await query(`create function public.${foreign} language plpgsql as $$ begin raise exception 'foreign'; end $$`);
  for (const [left, right] of [
    ['oid', 'regclass'],
    ['oid', 'regnamespace'],
    ['varchar', 'varchar'],
    ['information_schema.sql_identifier', 'information_schema.sql_identifier'],
  ])
    await query(
      `create function public.equals(${left}, ${right}) returns boolean language plpgsql
         as $$ begin raise exception 'foreign'; end $$;
       create operator public.= (leftarg = ${left}, rightarg = ${right}, function = public.equals)`,
    );
}
