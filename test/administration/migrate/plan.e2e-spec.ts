import { describe, expect, it, jest } from '@jest/globals';
import { createDatabase } from '../../support/database.js';
import { issueKey } from '../../support/api-keys.js';
import type { Outcome } from '../../support/program.js';
import { useProgramCopy } from '../../support/project-copy.js';

const { copy, database } = await useProgramCopy(({ urlOf }) => urlOf('order_lookup_owner'));
for (const client of ['Acme', 'Other']) await issueKey(database, { client });

function plan(...words: string[]): Promise<Outcome> {
  return copy.run('migrate', 'plan', ...words);
}

const CODE_TABLES = ['code_list', 'code_list_value', 'area_property', 'communication_code'];
const TABLES = [...CODE_TABLES, 'api_key', 'history', 'revision', 'pgmigrations'];
/** Returns everything that a plan could leave behind: the rows of these tables, and all tables, views and indexes. */
function readContents(): Promise<unknown[]> {
  const rows = TABLES.map((table) => `select '${table} ' || to_jsonb(t)::text as row from ${table} t`);
  const relations = `select relname from pg_class where relnamespace = 'public'::regnamespace`;
  return database.query(`${[...rows, relations].join(' union all ')} order by 1`);
}

const SAFE = 'Nothing here breaks clients.';
const UNSAFE = 'WARNING: this can break clients (lines with "!").';
const BOTH_AREAS = ['order-update', 'order-capture-v2'];
/** Returns the lines about a list that both areas contain. */
function inBothAreas(property: string, ...lines: string[]): string {
  return BOTH_AREAS.map((area) => `\n${area}, ${property}\n${lines.join('\n')}\n`).join('');
}

const READ_BY_POSITION = '(clients that read by position get another value)';
const INSERT_TRANSFER = `insert into code_list_value (code_list, value) values ('orderType', 'Transfer');`;

const HALF_A_YEAR_MS = 182 * 86_400_000;

/** Returns SQL for the midnight (UTC) with which today began, plus this many days. The database's clock decides. */
function inDays(days: number): string {
  return `date_trunc('day', now(), 'UTC') + interval '${days} days'`;
}

describe('migrate plan shows', () => {
  it.each([
    {
      what: 'a new value at the end of a list',
      up: INSERT_TRANSFER,
      down: `delete from code_list_value where value = 'Transfer';`,
      shown: `\nCallers see 2 changes: 2 added.\n${inBothAreas('orderType', '    + Transfer added')}`,
    },
    {
      what: 'a new value in the middle of a list, and another list in a new order',
      up: `${INSERT_TRANSFER} update code_list_value set position = case value when 'Transfer' then 2 else 3 end
             where code_list = 'orderType' and value in ('Transfer', 'Return');
           update code_list_value set position = 9 where value = 'DryVan';`,
      down: `delete from code_list_value where value = 'Transfer';
             update code_list_value set position = 2 where code_list = 'orderType' and value = 'Return';
             update code_list_value set position = 1 where value = 'DryVan';`,
      status: 2,
      conclusion: UNSAFE,
      shown: [
        '\nCallers see 6 changes: 2 added, 4 order changed; 4 can break clients.\n',
        ...BOTH_AREAS.map(
          (area) => `
${area}, orderType
  ! ↕ order changed ${READ_BY_POSITION}: Standard, Transfer, Return
    + Transfer added

${area}, equipmentType
  ! ↕ order changed ${READ_BY_POSITION}: FlatBed, Refrigerated, Container, Tanker, DryVan
`,
        ),
      ].join(''),
    },
    {
      what: 'a new property, and a new communication code',
      up: `insert into area_property (area, property, code_list) values ('order-update', 'more', 'orderType');
           insert into communication_code values ('A', 'B', 'The "first"');`,
      down: `delete from area_property where property = 'more'; delete from communication_code;`,
      shown: `
Callers see 4 changes: 4 added.

order-update, its properties
    + more added

order-update, more
    + Standard added
    + Return added

order-scheduling
    + codeType "A", code "B", description "The \\"first\\"" added
`,
    },
    {
      what: 'a property at another position, which breaks no client',
      up: `update area_property set position = 99 where area = 'order-update' and property = 'commentType';`,
      down: `update area_property set position = 1 where area = 'order-update' and property = 'commentType';`,
      shown: expect.stringMatching(
        /1 change: 1 order changed\.\n\norder-update, its properties\n {4}↕ order changed: preferred.{100,}…\n$/,
      ),
    },
  ])('$what, and changes nothing', async ({ up, down, shown, status = 0, conclusion = SAFE }) => {
    copy.add('21000101000000_x', up, down);
    const before = await readContents();
    const outcome = await plan();
    expect(outcome).toMatchObject({ status, stderr: '' });
    const beginning = 'Pending: 21000101000000_x\n';
    const end = `\n${conclusion}\nNothing was changed: this was a plan.\n`;
    expect(outcome.stdout.slice(0, beginning.length)).toBe(beginning);
    expect(outcome.stdout.slice(-end.length)).toBe(end);
    expect(outcome.stdout.slice(beginning.length, -end.length)).toEqual(shown);
    expect(await readContents()).toEqual(before);
  });

  it('effective times, and a "!" if a value ends within 30 days by the clock of the database', async () => {
    copy.add(
      '21000101000000_schedule',
      `update code_list_value set valid_until = ${inDays(5)} where value = 'Best';
       update code_list_value set valid_until = ${inDays(40)} where value = 'Rail';
       insert into code_list_value (code_list, value, valid_from) values ('orderType', 'Late', ${inDays(40)});
       insert into communication_code values ('A', 'B', 'First', null, ${inDays(40)});`,
      `update code_list_value set valid_until = null where valid_until is not null;
       delete from code_list_value where value = 'Late'; delete from communication_code;`,
    );
    const stdout = await planHalfAYearAhead();
    const json = await planHalfAYearAhead('--json');
    const at = String.raw`at \d{4}-\d\d-\d\dT00:00:00\.000Z`;
    for (const lines of [
      String.raw`\norder-update, transportationMode\n {2}! - Best removed ${at} \(orders .*\n`,
      String.raw`\(orders .*\n {4}- Rail removed ${at}\n`,
      String.raw`\norder-update, orderType\n {4}\+ Late added ${at}\n`,
      String.raw`\norder-scheduling\n.*added\n {4}- codeType "A", code "B", description "First" removed ${at}\n`,
    ])
      expect(stdout).toMatch(new RegExp(lines));
    expect(JSON.parse(json)).toMatchObject({
      migrations: ['21000101000000_schedule'],
      changes: { length: 8 }, // three values in each of two areas, and the beginning and the end of a record
      canBreakClients: true,
    });

    expect(await copy.run('migrate', 'up')).toMatchObject({ status: 0, stderr: '' });
    copy.add('21000101000001_change', `update communication_code set description = 'Second';`, 'select 1;');
    const changed = await plan();
    expect(changed.stdout).toContain('    ~ codeType "A", code "B", description "First" → "Second" changed\n');
    const down = await copy.run('migrate', 'down', '--yes');
    expect(down.stdout).toContain('- Best no longer removed at ');
  });

  /** Runs a plan while the clock of the test's process is half a year ahead. Returns the output. */
  async function planHalfAYearAhead(...words: string[]): Promise<string> {
    const readClock = Date.now.bind(Date);
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => readClock() + HALF_A_YEAR_MS);
    try {
      const { stdout } = await plan(...words);
      return stdout;
    } finally {
      clock.mockRestore();
    }
  }

  it('all codes as added, if the database is empty', async () => {
    const [counted] = await database.query<{ properties: number; values: number }>(
      `select (select count(*)::int from area_property) as properties,
         (select count(*)::int from area_property join code_list_value using (code_list)) as values`,
    );
    const count = (counted?.properties ?? NaN) + (counted?.values ?? NaN);
    const empty = await createDatabase({ migrated: false });
    try {
      await empty.query(
        `grant usage, create on schema public to order_lookup_owner;
         alter default privileges for role order_lookup_owner grant select on tables to order_lookup_service`,
      );
      copy.environment = { DATABASE_URL: empty.urlOf('order_lookup_owner') };
      const { status, stdout } = await plan();
      expect(status).toBe(0);
      expect(stdout).toContain(`\nCallers see ${count} changes: ${count} added.\n`);
      const left = `select relname from pg_class where relnamespace = 'public'::regnamespace`;
      expect(await empty.query(left)).toEqual([]);
    } finally {
      await empty.drop();
    }
  });

  it('that the effect is unknown if a migration uses an enum value that an earlier one adds', async () => {
    await database.query(`create type m as enum ('a'); alter type m owner to order_lookup_owner`);
    copy.add('21000101000000_extend', `alter type m add value 'b';`);
    copy.add('21000101000001_use', `select 'b'::m;`);
    try {
      expect(await plan()).toEqual({
        status: 1,
        stdout: '',
        stderr: expect.stringMatching(/^The dry run cannot show what callers would see: 21000101000001_use\.sql/),
      });
    } finally {
      await database.query('drop type m');
    }
  });
});

describe('a long plan', () => {
  it('shows totals and first lines in less than 20,000 characters, and all lines with --full or --json', async () => {
    copy.add(
      '21000101000000_many',
      `insert into communication_code
         select 'T', 'CODE-' || n, rpad('', 1000, 'x') from generate_series(1, 400) n;
       insert into code_list_value (code_list, value, valid_from)
         select 'orderType', 'V' || n, now() + n * interval '1 hour' from generate_series(1, 100) n;`,
      `delete from communication_code; delete from code_list_value where value like 'V%';`,
    );
    const { stdout, status } = await plan();
    expect(status).toBe(0);
    expect(stdout.length).toBeLessThan(20_000);
    expect(stdout).toContain('\nCallers see 600 changes: 600 added.\n');
    expect(stdout).toContain('\n    … and 380 more (--full)\n'); // of 400 codes, MAX_LINES (20) are shown
    const full = (await plan('--full')).stdout;
    expect(full.split('\n').filter((line) => line.startsWith('    + '))).toHaveLength(600);
    expect(full).not.toContain('…');
    const json = JSON.parse((await plan('--json')).stdout) as { changes: unknown[] };
    expect(json.changes).toHaveLength(600);
    expect(json.changes[0]).toEqual({
      kind: 'added',
      what: 'value',
      area: 'order-update',
      property: 'orderType',
      name: 'V1',
      at: expect.stringMatching(/Z$/),
    });
  });
});

it('migrate plan asks whether look-alikes and texts made by a spreadsheet are meant, and keeps the status 0', async () => {
  await database.query(
    `insert into code_list (name) values ('answers');
     insert into code_list_value (code_list, value) values ('answers', '007'), ('answers', 'NO-ANSWER')`,
  );
  copy.add(
    '21000101000000_x',
    `insert into code_list_value (code_list, value) values ('answers', '7'), ('answers', 'NO–ANSWER'), ('answers', '2-Mar');
     insert into communication_code values ('A', '7', '#NAME?', null), ('B', '007', 'x', '2031-01-01');`,
    'select 1;',
  );
  try {
    const { status, stdout } = await plan();
    expect(status).toBe(0);
    expect(stdout).toContain(`
Is this meant?
21000101000000_x, line 3: '2031-01-01' has no time zone, so it is 2031-01-01T00:00:00.000Z. Write the zone
answers: "7" resembles "007"
answers: "NO–ANSWER" resembles "NO-ANSWER"
answers: "2-Mar" looks like a day that a spreadsheet made
codeType "A", code "7", description: "#NAME?" looks like an error or a placeholder that a spreadsheet made

Nothing here breaks clients.
`);
    const { marks } = JSON.parse((await plan('--json')).stdout) as { marks: string[] };
    expect(marks).toHaveLength(5);
  } finally {
    await database.query(`delete from code_list where name = 'answers'`);
  }
});

it('migrate plan shows an invisible character as an escape', async () => {
  copy.add(
    '21000101000000_x',
    `alter table communication_code drop constraint communication_code_has_no_invisible_characters;
     insert into communication_code values ('Typ', U&'LEFT\\200b', 'x'), ('Typ', 'left', 'x');`,
    'select 1;',
  );
  const { stdout } = await plan();
  expect(stdout).toContain(String.raw`+ codeType "Typ", code "LEFT\u200b", description "x" added`);
});

describe('migrate plan reports what the service would do:', () => {
  const CODES_NOT_SERVED = '! the service would not serve the codes: ';
  const KEYS_NOT_READ = '! callers will be refused: the service could not read its keys: ';
  const KEYS_LOST = '! callers will be refused: keys of Acme';
  it.each([
    { effect: 'it refuses all keys', sql: 'truncate api_key;', said: `${KEYS_LOST}, Other\n` },
    {
      effect: 'it cannot read the table of keys',
      sql: 'drop table api_key cascade;',
      said: `${KEYS_NOT_READ}relation "public.api_key" does not exist`,
    },
    {
      effect: 'it cannot read a table of codes',
      sql: 'drop table communication_code;',
      said: `${CODES_NOT_SERVED}relation `,
    },
    {
      effect: 'it refuses a revoked key',
      sql: `update api_key set revoked_at = now() where client = 'Acme';`,
      said: `${KEYS_LOST}\n`,
    },
    {
      effect: 'it refuses a key whose hash was changed',
      sql: `update api_key set key_hash = sha256('x') where client = 'Acme';`,
      said: `${KEYS_LOST}\n`,
    },
    {
      effect: 'it will refuse a key in less than 30 days (NOTICE_DAYS)',
      sql: `update api_key set expires_at = now() + interval '29 days' where client = 'Acme';`,
      said: `${KEYS_LOST}\n`,
    },
    {
      effect: 'it serves no codes of an area without a property',
      sql: `delete from area_property where area = 'order-update';`,
      said: `${CODES_NOT_SERVED}the area order-update has`,
    },
  ])('$effect', async ({ sql, said }) => {
    copy.add('21000101000000_x', sql);
    const before = await readContents();
    const { status, stdout } = await plan();
    expect({ status, stdout }).toEqual({ status: 2, stdout: expect.stringContaining(said) });
    expect(stdout.match(/^! .*/gm)).toHaveLength(1); // if the keys cannot be read, they are not reported as lost, too
    expect(stdout).toContain(UNSAFE);
    // The plan counts no code as removed, because running replicas go on serving the former codes
    expect(stdout).toContain('\nThis can break clients:\n');
    expect(await readContents()).toEqual(before);
  });

  it('it cannot serve the present codes, so what callers would lose is unknown', async () => {
    const ofArea = `from area_property where area = 'order-update'`;
    await database.query(`create table kept as select * ${ofArea}; grant select on kept to public; delete ${ofArea}`);
    copy.add('21000101000000_x', 'insert into area_property select * from kept;');
    try {
      const { status, stdout } = await plan();
      expect(status).toBe(2);
      expect(stdout).toContain('! the present codes cannot be read (the area order-update has no property. ');
      expect(stdout).toContain(UNSAFE);
    } finally {
      await database.query('insert into area_property select * from kept; drop table kept');
    }
  });

  it('it refuses a deleted key, and an invisible character in the name of its client is shown as an escape', async () => {
    // The constraint accepts this name only with a revoked_at. Until that time, the key is still in force
    await database.query(
      `insert into api_key (client, key_hash, revoked_at)
         values (E'In\\u200bvisible', sha256('invisible'), now() + interval '60 days')`,
    );
    copy.add('21000101000000_x', `delete from api_key where client like 'In%';`);
    try {
      const { stdout } = await plan();
      expect(stdout).toContain(String.raw`keys of In\u200bvisible` + '\n');
    } finally {
      await database.query(`delete from api_key where client like 'In%'`);
    }
  });

  it('it will refuse a key earlier, although the key would end in less than 30 days anyway', async () => {
    await database.query(`insert into api_key (client, key_hash, expires_at)
      values ('Ending', sha256('ending'), now() + interval '20 days')`);
    const setEnd = (days: number): string => `update api_key set expires_at = ${inDays(days)} where client = 'Ending';`;
    try {
      copy.add('21000101000000_x', setEnd(2));
      expect((await plan()).stdout).toContain('! callers will be refused: keys of Ending\n');
      copy.add('21000101000000_x', setEnd(25));
      expect(await plan()).toMatchObject({ status: 0, stdout: expect.not.stringContaining('Ending') });
    } finally {
      await database.query(`delete from api_key where client = 'Ending'`);
    }
  });

  it('it refuses no key in the next 30 days, so the status is 0', async () => {
    copy.add('21000101000000_x', `update api_key set expires_at = now() + interval '31 days';`);
    expect(await plan()).toMatchObject({ status: 0, stderr: '' });
  });
});
