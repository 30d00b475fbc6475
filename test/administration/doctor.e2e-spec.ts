import { readFileSync } from 'node:fs';
import { afterAll, afterEach, describe, expect, it, jest } from '@jest/globals';
import { generateApiKey } from '../../src/auth/api-keys/api-key.js';
import { PASSWORD, type TestDatabase, createDatabase, queryAt } from '../support/database.js';
import { Issuer, createSigningKey } from '../support/issuer.js';
import { issueKey } from '../support/api-keys.js';
import { runLocally } from '../support/local-program.js';
import { PROJECT, endOf, startProgram } from '../support/program.js';
import { until } from '../support/until.js';

const [database, issuer] = await Promise.all([createDatabase(), Issuer.start()]);
const key = await issueKey(database);
issuer.published.push(issuer.signer.jwk); // a key that is published twice is no fault
const damagedDatabases: TestDatabase[] = [];

afterEach(() => {
  issuer.fault = 'none';
});
afterAll(async () => {
  await issuer.close();
  for (const each of [database, ...damagedDatabases]) await each.drop();
});

interface DoctorOptions {
  /** The lines of standard input. The word `-` makes the doctor read them. */
  readonly credentials?: readonly string[];
  /** Variables that replace those of a configuration without a fault. */
  readonly environment?: Record<string, string>;
}

async function doctor({ credentials = [], environment = {} }: DoctorOptions = {}): Promise<string> {
  const { status, stdout, stderr } = await runLocally({
    program: 'doctor',
    words: credentials.length > 0 ? ['-'] : [],
    environment: {
      DATABASE_URL: database.urlOf('order_lookup_service'),
      ...issuer.environment,
      ...environment,
    },
    input: credentials.join('\n'),
  });
  expect({ status, stderr }).toEqual({ status: /^fault/m.test(stdout) ? 2 : 0, stderr: '' });
  return stdout;
}

function examine(other: TestDatabase): Promise<string> {
  return doctor({ environment: { DATABASE_URL: other.urlOf('order_lookup_service') } });
}

async function createDatabaseToDamage(): Promise<TestDatabase> {
  const other = await createDatabase();
  damagedDatabases.push(other);
  return other;
}

/** Returns the statements that the doctor prints for the owner. */
function findStatements(stdout: string): string {
  const [, statements = ''] = /As the owner:\n((?:(?:--.*|.*;)\n)+)/.exec(stdout) ?? [];
  return statements;
}

function runPrintedStatements(other: TestDatabase, stdout: string): Promise<unknown> {
  return queryAt(other.urlOf('order_lookup_owner'), findStatements(stdout));
}

it('the doctor waits for a lock of the codes, so that a table that is being replaced does not look empty', async () => {
  const session = await database.session();
  await session.query(
    `begin; create temp table kept as table area_property; truncate area_property;
     insert into area_property table kept; drop table kept`,
  );
  const examining = doctor();
  await until(async () => (await database.countWaiting('area_property')) > 0, { during: examining });
  await session.query('commit');
  expect(await examining).toContain('Calls are answered.');
});

it('the doctor says how to find the session that locks the codes', async () => {
  const locked = await createDatabaseToDamage();
  // The function fails as a locked table does. A real lock would make the test wait for lockMs of the kind `read`
  await locked.query(`create function fail_to_lock() returns boolean language plpgsql as $$ begin
      raise lock_not_available using message = 'canceling statement due to lock timeout';
    end $$;
    alter table area_property rename to kept;
    create view area_property as select * from kept where fail_to_lock();
    grant select on area_property to order_lookup_service`);
  expect(await examine(locked)).toMatch(
    /fault {4}content {8}canceling statement due to lock timeout\n +→ Another session holds a lock\. .*pg_locks/,
  );
});

it('the doctor finds no fault in a sound installation, and prints neither key nor token', async () => {
  const token = await issuer.createToken();
  const stdout = await doctor({ credentials: [key.key, `Authorization: Bearer ${token}`] });
  const subjects = stdout.matchAll(/^ok {7}(\w+(?: \w+)?) {2}/gm);
  expect(Array.from(subjects, ([, subject]) => subject)).toEqual([
    'configuration',
    'database',
    'clock',
    'migrations',
    'owner',
    'role',
    'content',
    'triggers',
    'API key',
    'issuer',
    'access token',
  ]);
  expect(stdout).toMatch(/\n\nCalls are answered\.\n$/);
  for (const secret of [PASSWORD, ...cutIntoPieces(key.key), ...cutIntoPieces(token)])
    expect(stdout).not.toContain(secret);
});

/** Returns pieces of a credential. The doctor may show decoded claims, which contain none of these pieces. */
function cutIntoPieces(credential: string): string[] {
  return credential.match(/[^.]{20}/g) ?? [];
}

it('the doctor prints what it found in the database while it still waits for the issuer', async () => {
  issuer.fault = 'silent metadata';
  const environment = { DATABASE_URL: database.urlOf('order_lookup_service'), ...issuer.environment };
  const running = startProgram([process.execPath, 'dist/doctor.js'], PROJECT, environment);
  await until(async () => /^ok +triggers/m.test(running.output.stdout), { during: running.ended });
  expect(running.output.stdout).not.toMatch(/^\w+ +issuer/m);
  running.child.kill();
  await endOf(running);
});

it('the doctor asks the second issuer while it still waits for the first one', async () => {
  issuer.fault = 'silent metadata';
  const second = await Issuer.start();
  const environment = {
    DATABASE_URL: database.urlOf('order_lookup_service'),
    ...issuer.environment,
    OAUTH_ISSUER: `${issuer.url},${second.url}`,
  };
  const running = startProgram([process.execPath, 'dist/doctor.js'], PROJECT, environment);
  await until(async () => second.hits.has('/jwks'), { during: running.ended });
  const printedWhileWaiting = running.output.stdout;
  running.child.kill();
  await endOf(running);
  await second.close();
  expect(printedWhileWaiting).not.toMatch(/^\w+ +issuer/m);
});

describe('the doctor compares the clock of the machine with the clock of the database:', () => {
  const machineNow = Date.now.bind(Date);
  afterEach(() => void jest.restoreAllMocks());
  const setClock = (aheadSeconds: number): void => {
    jest.spyOn(Date, 'now').mockImplementation(() => machineNow() + aheadSeconds * 1000);
  };

  const MAY_BE_REFUSED = 'Calls with good tokens may be refused. Correct clock.';
  const ARE_ANSWERED = 'Calls are answered.';
  // An offset of NOTICEABLE_OFFSET_MS or more is a warning, and one of CLOCK_SKEW_SECONDS or more is a fault
  it.each([
    {
      clock: 'an hour ahead',
      aheadSeconds: 3_600,
      line: 'fault    clock .* is 3600 s ahead of the database',
      lastLine: MAY_BE_REFUSED,
    },
    {
      clock: 'five minutes behind',
      aheadSeconds: -300,
      line: 'fault    clock .* is 300 s behind the database',
      lastLine: MAY_BE_REFUSED,
    },
    {
      clock: '15 s ahead',
      aheadSeconds: 15,
      line: 'warning  clock .* is 15 s ahead of the database',
      lastLine: ARE_ANSWERED,
    },
    { clock: '5 s ahead', aheadSeconds: 5, line: 'ok       clock .* agrees', lastLine: ARE_ANSWERED },
  ])('if the machine is $clock, the last line is "$lastLine"', async ({ aheadSeconds, line, lastLine }) => {
    setClock(aheadSeconds);
    const stdout = await doctor();
    expect(stdout).toMatch(new RegExp(`^${line}`, 'm'));
    expect(stdout).toMatch(new RegExp(`\n${lastLine}\n$`));
  });
});

it('if one of two issuers does not answer, the doctor says that good tokens may be refused', async () => {
  const stdout = await doctor({ environment: { OAUTH_ISSUER: `${issuer.url},http://127.0.0.1:1` } });
  expect(stdout).toMatch(/^fault {4}issuer .*\n +→ Start the issuer, or correct host and port/m);
  expect(stdout).toContain('Calls with good tokens may be refused. Correct issuer.');
});

it('if neither of two issuers answers, the doctor says that a new replica would not answer calls', async () => {
  const stdout = await doctor({ environment: { OAUTH_ISSUER: 'http://127.0.0.1:1,http://127.0.0.1:2' } });
  expect(stdout).toMatch(lastLineIfNoCallIsAnswered('issuer'));
});

function lastLineIfNoCallIsAnswered(toCorrect: string): RegExp {
  const running = 'Running replicas may answer from memory';
  return new RegExp(`\\nA new replica would not answer calls\\. ${running}\\. Correct ${toCorrect}\\.\\n$`);
}

describe('the doctor names a fault of the settings, the server or an issuer:', () => {
  it.each([
    {
      what: 'a missing variable, and a server that is down',
      environment: () => ({ OAUTH_AUDIENCE: '', DATABASE_URL: 'postgres://a:secret@127.0.0.1:9/x' }),
      findings: [
        /^fault {4}configuration .*OAUTH_AUDIENCE is not set/m,
        /^fault {4}database .* at 127\.0\.0\.1:9 .*connect ECONNREFUSED.* Start the server, or correct host/m,
        lastLineIfNoCallIsAnswered('configuration, database'),
      ],
    },
    {
      what: 'a malformed connection string, which is reported once',
      environment: () => ({ DATABASE_URL: 'a' }),
      findings: [
        /^fault {4}configuration {2}DATABASE_URL does not begin with .*\n *→ Every variable is explained in \.env\.example\./,
        /^[^\n]*\n[^\n]*\n\n.* Correct configuration\.\n$/,
      ],
    },
    {
      what: 'a wrong password, and a slash too many in the issuer',
      environment: () => ({
        DATABASE_URL: database.url.replace(PASSWORD, 'wrong'),
        OAUTH_ISSUER: `${issuer.url}/`,
      }),
      findings: [
        /^fault {4}database .*password authentication.* Correct role and password/m,
        /^fault {4}issuer .* names the issuer .*\n +→ OAUTH_ISSUER has to be exactly the iss/m,
        lastLineIfNoCallIsAnswered('database, issuer'),
      ],
    },
    {
      what: 'a database that does not exist',
      environment: () => ({ DATABASE_URL: database.url.replace(/\/\w+$/, '/no_database') }),
      findings: [
        /^fault {4}database .*does not exist\. Correct the database in the connection string, or create it/m,
        lastLineIfNoCallIsAnswered('database'),
      ],
    },
    {
      what: 'a host that does not exist',
      environment: () => ({ DATABASE_URL: 'postgres://a:b@database.invalid/x' }),
      findings: [
        /^fault {4}database .*database\.invalid.* correct host and port in the connection string/m,
        lastLineIfNoCallIsAnswered('database'),
      ],
    },
    {
      what: 'a role with too many rights',
      environment: () => ({ DATABASE_URL: database.urlOf('order_lookup_owner') }),
      findings: [/^warning {2}role .*may write too/m, /\nCalls are answered\.\n$/],
    },
  ])('$what', async ({ environment, findings }) => {
    const stdout = await doctor({ environment: environment() });
    for (const finding of findings) expect(stdout).toMatch(finding);
    for (const password of ['secret', PASSWORD]) expect(stdout).not.toContain(password);
  });

  it('a limit of connections that is reached', async () => {
    const limited = await createDatabaseToDamage();
    await limited.query(`alter database ${limited.name} connection limit 0`);
    expect(await examine(limited)).toMatch(
      /^fault {4}database .*too many connections.* End connections .*, or raise the limit/m,
    );
  });

  it.each([
    {
      fault: 'down',
      ofIssuer: /^fault {4}issuer .*the connection was closed/m,
      ofToken: /^warning {2}access token .*was not checked/m,
    },
    {
      fault: 'html',
      ofIssuer: /^fault {4}issuer .*answers with a page/m,
      ofToken: /^warning {2}access token .*was not checked/m,
    },
    {
      fault: 'empty set',
      ofIssuer: /^fault {4}issuer .* 0 signing keys/m,
      ofToken: /^fault {4}access token .*no key of its/m,
    },
  ] as const)('an issuer that fails: $fault', async ({ fault, ofIssuer, ofToken }) => {
    issuer.fault = fault;
    const stdout = await doctor({ credentials: [await issuer.createToken()] });
    expect(stdout).toMatch(ofIssuer);
    expect(stdout).toMatch(ofToken);
  });
});

describe('the doctor finds a fault of the database:', () => {
  it('pending migrations', async () => {
    const empty = await createDatabase({ migrated: false });
    damagedDatabases.push(empty);
    const stdout = await doctor({ environment: { DATABASE_URL: empty.url } });
    expect(stdout).toMatch(
      /^fault {4}migrations {5}pending: 0001_create_code_tables, [^]*→ .*node dist\/migrate\.js up/m,
    );
    expect(stdout).toMatch(/^fault {4}role .*tables that postgres has to read are missing: revision, .*$/m);
    expect(stdout).toMatch(/ Correct migrations, role, content\.\n$/);
  });

  it('a single pending migration', async () => {
    const behind = await createDatabaseToDamage();
    await behind.query('delete from pgmigrations where id = (select max(id) from pgmigrations)');
    expect(await examine(behind)).toMatch(/^fault {4}migrations {5}pending: \d{14}_\w+\n +→ As the owner: .*migrate/m);
  });

  it('missing rights of a role, with its name in quotes if SQL needs them', async () => {
    const other = await createDatabaseToDamage();
    const role = `reader@${other.name}`;
    await other.query(`create role "${role}" login password '${PASSWORD}'; grant usage on schema public to "${role}"`);
    const stdout = await doctor({ environment: { DATABASE_URL: other.urlOf(encodeURIComponent(role)) } });
    await other.query(`drop owned by "${role}"; drop role "${role}"`);
    expect(stdout).toContain(`to "${role}";`);
  });

  it('missing rights of the role, until the printed statements are run', async () => {
    const other = await createDatabaseToDamage();
    await other.query('revoke select on communication_code from order_lookup_service');
    const stdout = await examine(other);
    expect(stdout).toMatch(/^fault {4}role .*order_lookup_service may not read communication_code/m);
    const [, grant = ''] = /As the owner: (grant .*;)/.exec(stdout) ?? [];
    await queryAt(other.urlOf('order_lookup_owner'), grant);
    expect(await examine(other)).toMatch(/^ok {7}role/m);
    await other.query('revoke usage on schema public from public, order_lookup_service');
    expect(await examine(other)).toMatch(
      /^fault {4}role .*permission denied for schema public\n *→ .*grant usage on schema public/m,
    );
  });

  it('an area without a property, so that the service would serve no codes', async () => {
    const other = await createDatabaseToDamage();
    await other.query(`delete from area_property where area = 'order-update'`);
    expect(await examine(other)).toMatch(/^fault {4}content .*the area order-update has no property/m);
  });

  it('a wrong owner of a single table, whichever table it is', async () => {
    const other = await createDatabaseToDamage();
    const tables = await other.query<{ name: string }>(
      `select relname::text as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'`,
    );
    const found: string[] = [];
    for (const { name } of tables) {
      await other.query(`alter table ${name} owner to postgres`);
      if (/^fault {4}owner /m.test(await examine(other))) found.push(name);
      await other.query(`alter table ${name} owner to order_lookup_owner`);
    }
    expect(found).toEqual(tables.map(({ name }) => name));
  });

  it('a wrong owner of all tables, until the printed statements are run', async () => {
    const other = await createDatabaseToDamage();
    const owners = `select relname::text as name, relowner::regrole::text as owner from pg_class
        where relnamespace = 'public'::regnamespace and relkind in ('r', 'v')
      union all select proname, proowner::regrole::text from pg_proc where pronamespace = 'public'::regnamespace
      order by name`;
    const ours = await other.query(owners);
    await other.query('create extension pg_trgm'); // its functions belong to the superuser, and keep this owner
    const expected = await other.query(owners);
    expect(expected.length).toBeGreaterThan(ours.length);
    await other.query(
      `do $$ declare object record; begin
         for object in select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'v')
         loop execute format('alter table %I owner to postgres', object.relname); end loop;
         alter function record_change() owner to postgres;
       end $$`,
    );
    const stdout = await examine(other);
    expect(stdout).toMatch(/^fault {4}owner .*tables belong to postgres, and not to order_lookup_owner$/m);
    const [, statements = ''] = /As a superuser, or as a member of both roles:\n((?:alter .*;\n)+)/.exec(stdout) ?? [];
    await other.query(statements);
    expect(await other.query(owners)).toEqual(expected);
    expect(await examine(other)).toMatch(/^ok {7}owner/m);
  });

  it('missing triggers, each with the migration that creates it', async () => {
    const other = await createDatabaseToDamage();
    const triggers = await other.query<{ table: string; trigger: string }>(
      `select tgrelid::regclass::text as table, tgname as trigger
         from pg_trigger where tgname ~ '^record|^(lock|set)_stamp' order by 1, 2`,
    );
    expect(triggers).toHaveLength(6 * 4 + 5 + 1); // record_* of six tables, lock_stamp of five, set_stamps of one
    for (const { table, trigger } of triggers) await other.query(`drop trigger ${trigger} on ${table}`);
    const stdout = await examine(other);
    for (const { table, trigger } of triggers) {
      expect(stdout).toContain(`${trigger} of ${table} is missing`);
      const remedy = new RegExp(`-- create ${trigger} of ${table} again, as (migrations/.*\\.sql) does`);
      expect(stdout).toMatch(remedy);
      const [, file = ''] = remedy.exec(stdout) ?? [];
      expect(readFileSync(file, 'utf8')).toContain(`create trigger ${trigger} `);
      expect(stdout).toContain(`alter table public.${table} enable always trigger ${trigger};`);
    }
  });

  it.each([
    { what: 'is off', state: 'disable trigger record_update', fault: 'is switched off' },
    {
      what: 'does not fire for session_replication_role = replica',
      state: 'enable trigger record_update',
      fault: 'is not enabled always, so it does not fire for all changes',
    },
  ])('a trigger that $what, until the printed statements are run', async ({ state, fault }) => {
    const other = await createDatabaseToDamage();
    await other.query(`alter table api_key ${state}`);
    const stdout = await examine(other);
    expect(stdout).toContain(`\nfault    triggers       record_update of api_key ${fault}\n`);
    await runPrintedStatements(other, stdout);
    expect(await examine(other)).toMatch(/^ok {7}triggers/m);
  });
});

it('the doctor calls no function and no operator that others have put into the schema public', async () => {
  const other = await createDatabaseToDamage();
  // The doctor reports the missing trigger and the owner of code_list, but not of `similarity`, a part of an extension
  await other.query(
    `drop trigger record_update on api_key;
     create extension pg_trgm;
     alter table code_list owner to order_lookup_service;
     alter function similarity owner to order_lookup_service`,
  );
  const expected = await examine(other);
  for (const foreign of [
    'function public.format(text, text) returns text',
    'function public.format(text, text, text) returns text',
    'function public.format(text, text, text, text) returns text',
    'function public.format(text, text, name, name) returns text',
    'function public.concat(text, text) returns text',
    'function public.unnest(text[]) returns setof text',
    'function public.is_same(oid, regclass) returns boolean',
  ])
    await other.query(`create ${foreign} language plpgsql as $$ begin raise exception 'foreign'; end $$`);
  await other.query('create operator public.= (leftarg = oid, rightarg = regclass, function = public.is_same)');
  await other.query(
    `create aggregate public.array_agg(text) (sfunc = array_append, stype = text[], initcond = '{foreign}')`,
  );
  expect(await examine(other)).toBe(expected);
});

describe('for a credential that does not pass', () => {
  it('the doctor prints one sentence with the reason and the remedy', async () => {
    const now = new Date().toISOString();
    const settings = { OAUTH_REQUIRED_SCOPE: 'lookups.read', OAUTH_CLIENTS: 'tests' };
    const tokens = [
      { given: await tokenWith({ exp: 1e9 }), sentence: /reason "expired".*"exp":1000000000/ },
      { given: await tokenWith({ aud: ['a\u00a0'] }), sentence: /reason "audience".*"aud":\["a\\u00a0"\]/ },
      {
        given: await tokenSignedWith('ES256', 'other'),
        sentence: /no key of its issuer verifies .*"kid":"other"/,
      },
      {
        given: await tokenSignedWith('RS256', 'rsa-1'),
        sentence: /no key of its issuer verifies .*"kid":"rsa-1"/,
      },
      {
        given: await tokenWith({ padding: 'x'.repeat(9_200) }), // in Base64 the whole token exceeds MAX_TOKEN_BYTES
        sentence: / \d{5} bytes; .* at most 12288 bytes is needed/,
      },
      {
        given: await tokenWith({ client_id: 'foreign' }),
        sentence: /"client".*"client_id":"foreign"/,
      },
      { given: await tokenWith({ iss: 'other' }), sentence: /reason "issuer".*"iss":"other"/ },
      { given: 'a.b.c.d.e', sentence: /it is encrypted \(JWE\)/ },
      { given: await issuer.createToken(), sentence: /it lacks the scope lookups.read, so the service answers 403/ },
    ];
    const revoked = await issueKey(database, { client: 'Ac\u200bme', revokedAt: now });
    const expired = await issueKey(database, { expiresAt: now });
    const keys = [
      { given: key.key.slice(0, -1), sentence: /its checksum does not fit/ },
      { given: generateApiKey(), sentence: /it is not in this database/ },
      { given: revoked.key, sentence: /of Ac\\u200bme is revoked/ },
      { given: expired.key, sentence: /is expired/ },
    ];
    const credentials = [...tokens, ...keys].map(({ given }) => given);
    const stdout = await doctor({ credentials, environment: settings });
    expect(faultsOf(stdout, 'access token')).toEqual(sentencesOf(tokens));
    expect(faultsOf(stdout, 'API key')).toEqual(sentencesOf(keys));
    const remedies = ['fewer groups', 'add it to OAUTH_CLIENTS', 'Ask an issuer of OAUTH_ISSUER'];
    for (const remedy of remedies) expect(stdout).toContain(remedy);
    for (const part of credentials.flatMap(cutIntoPieces)) expect(stdout).not.toContain(part);
    const refused = `API key 1, .*, access token ${tokens.length}`;
    expect(stdout).toMatch(new RegExp(`\\nCalls are answered\\. Refused: ${refused}\\.\\n$`));
  });

  interface Refusal {
    readonly given: string;
    readonly sentence: RegExp;
  }

  function tokenWith(claims: Record<string, unknown>): Promise<string> {
    return issuer.createToken({ claims });
  }

  /** Returns a token signed with a key that the issuer does not publish. */
  async function tokenSignedWith(alg: string, kid: string): Promise<string> {
    return issuer.createToken({ key: await createSigningKey(alg, kid) });
  }

  function faultsOf(stdout: string, subject: string): string[] {
    return stdout.match(new RegExp(`^fault {4}${subject} .*$`, 'gm')) ?? [];
  }

  function sentencesOf(refusals: readonly Refusal[]): unknown[] {
    return refusals.map(({ sentence }) => expect.stringMatching(sentence));
  }
});
