import { afterAll, describe, expect, it } from '@jest/globals';
import { showInvisible } from '../../src/administration/cli/invisible-characters.js';
import { createDatabase } from '../support/database.js';

const database = await createDatabase();
const client = await database.session();
afterAll(() => database.drop());

it('a new database contains no communication codes', async () => {
  expect(await database.query('select from communication_code')).toEqual([]);
  expect(await database.query('select from code_list_value')).not.toEqual([]);
});

type Row = Readonly<Record<string, unknown>>;

/** Returns the constraint that the statement violates, or another error. The statement is rolled back. */
async function violated(sql: string, parameters: unknown[] = []): Promise<string | undefined> {
  await client.query('begin');
  try {
    await client.query(sql, parameters);
    await client.query('set constraints all immediate');
    return undefined;
  } catch (error) {
    return (error as { constraint?: string }).constraint ?? String(error);
  } finally {
    await client.query('rollback');
  }
}

function violatedBy(table: string, row: Row): Promise<string | undefined> {
  const places = Object.keys(row).map((_, index) => `$${index + 1}`);
  const sql = `insert into ${table} (${Object.keys(row).join()}) values (${places.join()})`;
  return violated(sql, Object.values(row));
}

const ROWS: Readonly<Record<string, Row>> = {
  code_list: { name: 'new' },
  code_list_value: { code_list: 'orderType', value: 'X' },
  area_property: { area: 'order-update', property: 'x', code_list: 'orderType' },
  communication_code: { code_type: 'T', code: 'C', description: 'D' },
  api_key: { client: 'c', key_hash: Buffer.alloc(32) },
};
const SPACES = ' \t\n\v\f\r\u0085\u00a0\u1680\u2003\u2028\u2029\u202f\u205f\u3000\ufeff'.split('');
const INVISIBLE = 'x\u200bx|x\u00adx|x\u2060x|x\u202ex|x\ufeffx|x\u3164|\u2800|x\u00a0x|x\u{e0041}'.split('|');
const CONTROLS = '\u0001\u001b\u001f\u007f\u0080\u009f\u2028\u2029\n\t'.split('');

describe('the tables refuse content that the service could not serve:', () => {
  it.each([
    { table: 'code_list_value', column: 'value', name: 'code_list_value', most: 256 },
    {
      table: 'communication_code',
      column: 'code_type',
      name: 'communication_code_type',
      most: 256,
    },
    { table: 'communication_code', column: 'code', name: 'communication_code', most: 256 },
    {
      table: 'communication_code',
      column: 'description',
      name: 'communication_code_description',
      most: 1024,
    },
    { table: 'api_key', column: 'client', name: 'api_key_client', most: 128 },
  ])('unclean text, but no clean text: $table.$column', async ({ table, column, name, most }) => {
    const outcome = (text: string) => violatedBy(table, { ...ROWS[table], [column]: text });
    // A text may violate both constraints. PostgreSQL names the first
    const refusals = [`${name}_is_clean_text_of_${most}_characters`, `${name}_has_no_invisible_characters`];
    const accepted: string[] = [];
    for (const text of [
      '',
      'x'.repeat(most + 1),
      ...SPACES.flatMap((space) => [space, `${space}x`, `x${space}`]),
      ...CONTROLS.map((control) => `x${control}x`),
    ])
      if (!refusals.includes((await outcome(text)) ?? '')) accepted.push(JSON.stringify(text));
    expect(accepted).toEqual([]);
    for (const text of ['𝄞'.repeat(most), 'a b', '"\\é']) expect(await outcome(text)).toBeUndefined();
  });

  it.each([
    { table: 'code_list_value', column: 'value', name: 'code_list_value' },
    { table: 'communication_code', column: 'code_type', name: 'communication_code_type' },
    { table: 'communication_code', column: 'code', name: 'communication_code' },
    { table: 'api_key', column: 'client', name: 'api_key_client' },
  ])('invisible characters: $table.$column', async ({ table, column, name }) => {
    for (const text of INVISIBLE)
      expect([text, await violatedBy(table, { ...ROWS[table], [column]: text })]).toEqual([
        text,
        `${name}_has_no_invisible_characters`,
      ]);
  });

  it('exactly the invisible characters that the commands show as escapes', async () => {
    const { rows } = await client.query<{ codePoint: number }>(
      `select n as "codePoint" from generate_series(1, 1114111) as n
        where n not between 55296 and 57343 and not is_visible(chr(n)) order by n`,
    );
    const ofCommands: number[] = [];
    for (let codePoint = 1; codePoint <= 0x10ffff; codePoint++) {
      const character = String.fromCodePoint(codePoint);
      if (showInvisible(character) !== character) ofCommands.push(codePoint);
    }
    expect(rows.map(({ codePoint }) => codePoint)).toEqual(ofCommands);
  });

  it('no older row, so that a key whose client has an invisible character can be revoked', async () => {
    await client.query('begin');
    await client.query(
      `alter table api_key drop constraint api_key_client_has_no_invisible_characters;
       insert into api_key (client, key_hash) values ('Acme' || chr(8203), sha256('old'));
       alter table api_key add constraint api_key_client_has_no_invisible_characters
         check (is_visible(client) or revoked_at is not null) not valid;
       update api_key set revoked_at = now()`,
    );
    await client.query('rollback');
    // A description may contain the invisible character that joins the parts of an emoji
    const family = '\u{1f468}\u200d\u{1f469}';
    const row = { ...ROWS['communication_code'], description: family };
    expect(await violatedBy('communication_code', row)).toBeUndefined();
  });

  const NO_NAMES = ['', '1st', 'a b', 'a'.repeat(65), 'ü'];
  const NO_ENDS = ['infinity', '10000-01-01T00:00:00Z'];
  const NO_BEGINNINGS = ['-infinity', '0001-12-31T23:59:59Z BC', '10000-01-01T00:00:00Z'];
  it.each<{ table: string; rule: string; column: string; values: unknown[] }>([
    {
      table: 'code_list_value',
      rule: 'is_unique_in_its_list',
      column: 'value',
      values: ['Standard'],
    },
    {
      table: 'code_list_value',
      rule: 'position_is_unique_in_its_list',
      column: 'position',
      values: [1],
    },
    { table: 'code_list_value', rule: 'position_is_positive', column: 'position', values: [0] },
    { table: 'code_list_value', rule: 'names_a_list', column: 'code_list', values: ['absent'] },
    {
      table: 'code_list_value',
      rule: 'begins_in_the_years_1_to_9999',
      column: 'valid_from',
      values: NO_BEGINNINGS,
    },
    {
      table: 'code_list_value',
      rule: 'ends_in_the_years_1_to_9999',
      column: 'valid_until',
      values: NO_ENDS,
    },
    {
      table: 'communication_code',
      rule: 'begins_in_the_years_1_to_9999',
      column: 'valid_from',
      values: NO_BEGINNINGS,
    },
    {
      table: 'communication_code',
      rule: 'ends_in_the_years_1_to_9999',
      column: 'valid_until',
      values: NO_ENDS,
    },
    {
      table: 'code_list',
      rule: 'name_is_a_short_identifier',
      column: 'name',
      values: [...NO_NAMES, ' a'],
    },
    { table: 'code_list', rule: 'is_unique', column: 'name', values: ['orderType'] },
    {
      table: 'area_property',
      rule: 'is_a_json_name',
      column: 'property',
      values: [...NO_NAMES, 'Upper', '__proto__', 'a-b'],
    },
    {
      table: 'area_property',
      rule: 'is_unique_in_its_area',
      column: 'property',
      values: ['orderType'],
    },
    {
      table: 'area_property',
      rule: 'position_is_unique_in_its_area',
      column: 'position',
      values: [1],
    },
    { table: 'area_property', rule: 'area_is_known', column: 'area', values: ['order-capture'] },
    { table: 'area_property', rule: 'names_a_list', column: 'code_list', values: ['absent'] },
    {
      table: 'api_key',
      rule: 'hash_is_sha_256',
      column: 'key_hash',
      values: [Buffer.alloc(31), Buffer.alloc(33)],
    },
    {
      table: 'api_key',
      rule: 'expiry_is_in_the_years_1_to_9999',
      column: 'expires_at',
      values: NO_ENDS,
    },
    {
      table: 'api_key',
      rule: 'expires_after_it_is_created',
      column: 'expires_at',
      values: ['2001-01-01'],
    },
  ])('$table: $column $rule, other than $values', async ({ table, rule, column, values }) => {
    for (const value of values) {
      const constraint = await violatedBy(table, { ...ROWS[table], [column]: value });
      expect(constraint).toBe(`${table}_${rule}`);
    }
  });

  it.each(['code_list_value', 'communication_code'])('%s_ends_after_it_begins', async (table) => {
    for (const from of ['2030-01-01', '2030-01-02'])
      expect(await violatedBy(table, { ...ROWS[table], valid_from: from, valid_until: '2030-01-01' })).toBe(
        `${table}_ends_after_it_begins`,
      );
  });

  it.each([
    {
      constraint: 'area_property_names_a_list',
      sql: `delete from code_list where name = 'orderType'`,
    },
    {
      constraint: 'communication_code_is_unique',
      sql: `insert into communication_code select 'T', 'C', n::text from generate_series(1, 2) as n`,
    },
    {
      constraint: 'api_key_hash_is_unique',
      sql: `insert into api_key (client, key_hash) values ('a', sha256('k')), ('b', sha256('k'))`,
    },
  ])('$constraint: $sql', async ({ constraint, sql }) => expect(await violated(sql)).toBe(constraint));
});

describe('positions', () => {
  const valuesOf = async (list: string): Promise<unknown[]> => {
    const query = `select value from code_list_value where code_list = $1 order by position`;
    return (await database.query(query, [list])).map(({ value }) => value as unknown);
  };

  it('of two rows can be exchanged in one statement', async () => {
    await database.query(`update code_list_value set position = 4 - position where code_list = 'stopReason'`);
    expect(await valuesOf('stopReason')).toEqual(['PickupAndDelivery', 'Delivery', 'Pickup']);
  });

  it('of new rows come at the end of the list, in the order of the rows, also if several sessions insert', async () => {
    const pairs = Array.from({ length: 12 }, (_, at) => [`A${at}`, `B${at}`] as const);
    const insert = `insert into code_list_value (code_list, value) values ('partyType', $1), ('partyType', $2)`;
    await Promise.all(pairs.map((pair) => database.query(insert, [...pair])));
    const values = await valuesOf('partyType');
    expect(values[0]).toBe('Solicitor');
    expect(values).toHaveLength(25);
    for (const [first, second] of pairs) expect(values.indexOf(second)).toBe(values.indexOf(first) + 1);
  });
});
