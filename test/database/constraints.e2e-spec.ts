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

/** Returns the name of the violated constraint, the text of another error, or undefined. Rolls the statement back. */
async function findViolated(sql: string, parameters: unknown[] = []): Promise<string | undefined> {
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

function findViolatedByRow(table: string, row: Row): Promise<string | undefined> {
  const places = Object.keys(row).map((_, index) => `$${index + 1}`);
  const sql = `insert into ${table} (${Object.keys(row).join()}) values (${places.join()})`;
  return findViolated(sql, Object.values(row));
}

const VALID_ROWS: Readonly<Record<string, Row>> = {
  code_list: { name: 'new' },
  code_list_value: { code_list: 'orderType', value: 'X' },
  area_property: { area: 'order-update', property: 'x', code_list: 'orderType' },
  communication_code: { code_type: 'T', code: 'C', description: 'D' },
  api_key: { client: 'c', key_hash: Buffer.alloc(32) },
};
const SPACES = ' \t\n\v\f\r\u0085\u00a0\u1680\u2003\u2028\u2029\u202f\u205f\u3000\ufeff'.split('');
const INVISIBLE = 'x\u200bx|x\u00adx|x\u2060x|x\u202ex|x\ufeffx|x\u3164|\u2800|x\u00a0x|x\u{e0041}'.split('|');
const CONTROLS = '\u0001\u001b\u001f\u007f\u0080\u009f\u2028\u2029\n\t'.split('');

const LAST_CODE_POINT = 0x10ffff;
const [FIRST_SURROGATE, LAST_SURROGATE] = [0xd800, 0xdfff];

describe('the tables refuse content that the service could not serve:', () => {
  it.each([
    { table: 'code_list_value', column: 'value', prefix: 'code_list_value', maxLength: 256 },
    {
      table: 'communication_code',
      column: 'code_type',
      prefix: 'communication_code_type',
      maxLength: 256,
    },
    { table: 'communication_code', column: 'code', prefix: 'communication_code', maxLength: 256 },
    {
      table: 'communication_code',
      column: 'description',
      prefix: 'communication_code_description',
      maxLength: 1024,
    },
    { table: 'api_key', column: 'client', prefix: 'api_key_client', maxLength: 128 },
  ])(
    'text that is empty, too long, padded with spaces, or has control characters: $table.$column',
    async ({ table, column, prefix, maxLength }) => {
      const findViolatedBy = (text: string) => findViolatedByRow(table, { ...VALID_ROWS[table], [column]: text });
      // A text may violate both constraints. PostgreSQL names only the first of them
      const refusals = [`${prefix}_is_clean_text_of_${maxLength}_characters`, `${prefix}_has_no_invisible_characters`];
      const accepted: string[] = [];
      for (const text of [
        '',
        'x'.repeat(maxLength + 1),
        ...SPACES.flatMap((space) => [space, `${space}x`, `x${space}`]),
        ...CONTROLS.map((control) => `x${control}x`),
      ])
        if (!refusals.includes((await findViolatedBy(text)) ?? '')) accepted.push(JSON.stringify(text));
      expect(accepted).toEqual([]);
      for (const text of ['𝄞'.repeat(maxLength), 'a b', '"\\é']) expect(await findViolatedBy(text)).toBeUndefined();
    },
  );

  it.each([
    { table: 'code_list_value', column: 'value', prefix: 'code_list_value' },
    { table: 'communication_code', column: 'code_type', prefix: 'communication_code_type' },
    { table: 'communication_code', column: 'code', prefix: 'communication_code' },
    { table: 'api_key', column: 'client', prefix: 'api_key_client' },
  ])('invisible characters: $table.$column', async ({ table, column, prefix }) => {
    for (const text of INVISIBLE)
      expect([text, await findViolatedByRow(table, { ...VALID_ROWS[table], [column]: text })]).toEqual([
        text,
        `${prefix}_has_no_invisible_characters`,
      ]);
  });

  it('exactly the invisible and control characters that the commands show as escapes', async () => {
    const { rows } = await client.query<{ codePoint: number }>(
      `select n as "codePoint" from generate_series(1, ${LAST_CODE_POINT}) as n
        where n not between ${FIRST_SURROGATE} and ${LAST_SURROGATE}
          and not (is_visible(chr(n)) and is_clean('a' || chr(n) || 'a', 3))
        order by n`,
    );
    const ofCommands: number[] = [];
    for (let codePoint = 1; codePoint <= LAST_CODE_POINT; codePoint++) {
      const character = String.fromCodePoint(codePoint);
      if (showInvisible(character) !== character) ofCommands.push(codePoint);
    }
    expect(rows.map(({ codePoint }) => codePoint)).toEqual(ofCommands);
  });

  const INVALID_NAMES = ['', '1st', 'a b', 'a'.repeat(65), 'ü'];
  const INVALID_ENDS = ['infinity', '10000-01-01T00:00:00Z'];
  const INVALID_BEGINNINGS = ['-infinity', '0001-12-31T23:59:59Z BC', '10000-01-01T00:00:00Z'];
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
      values: INVALID_BEGINNINGS,
    },
    {
      table: 'code_list_value',
      rule: 'ends_in_the_years_1_to_9999',
      column: 'valid_until',
      values: INVALID_ENDS,
    },
    {
      table: 'communication_code',
      rule: 'begins_in_the_years_1_to_9999',
      column: 'valid_from',
      values: INVALID_BEGINNINGS,
    },
    {
      table: 'communication_code',
      rule: 'ends_in_the_years_1_to_9999',
      column: 'valid_until',
      values: INVALID_ENDS,
    },
    {
      table: 'code_list',
      rule: 'name_is_a_short_identifier',
      column: 'name',
      values: [...INVALID_NAMES, ' a'],
    },
    { table: 'code_list', rule: 'is_unique', column: 'name', values: ['orderType'] },
    {
      table: 'area_property',
      rule: 'is_a_json_name',
      column: 'property',
      values: [...INVALID_NAMES, 'Upper', '__proto__', 'a-b'],
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
      values: INVALID_ENDS,
    },
    {
      table: 'api_key',
      rule: 'expires_after_it_is_created',
      column: 'expires_at',
      values: ['2001-01-01'],
    },
  ])('$values in $table.$column, by the rule $rule', async ({ table, rule, column, values }) => {
    for (const value of values) {
      const constraint = await findViolatedByRow(table, { ...VALID_ROWS[table], [column]: value });
      expect(constraint).toBe(`${table}_${rule}`);
    }
  });

  it.each(['code_list_value', 'communication_code'])('a row that does not end after it begins: %s', async (table) => {
    for (const from of ['2030-01-01', '2030-01-02'])
      expect(
        await findViolatedByRow(table, { ...VALID_ROWS[table], valid_from: from, valid_until: '2030-01-01' }),
      ).toBe(`${table}_ends_after_it_begins`);
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
  ])('$sql, by the constraint $constraint', async ({ constraint, sql }) =>
    expect(await findViolated(sql)).toBe(constraint),
  );
});

describe('the tables accept', () => {
  it('that a key is revoked, even if a constraint that was added later refuses its client', async () => {
    const constraint = 'api_key_client_has_no_invisible_characters';
    const [found] = await database.query<{ definition: string }>(
      'select pg_get_constraintdef(oid) as definition from pg_constraint where conname = $1',
      [constraint],
    );
    const sql = `
      alter table api_key drop constraint ${constraint};
      insert into api_key (client, key_hash) values ('Acme' || chr(8203), sha256('old'));
      alter table api_key add constraint ${constraint} ${found?.definition}`;
    expect(await findViolated(`${sql}; update api_key set revoked_at = now()`)).toBeUndefined();
    expect(await findViolated(`${sql}; update api_key set expires_at = null`)).toBe(constraint);
  });

  it('a description with the invisible character that joins the parts of an emoji', async () => {
    const family = '\u{1f468}\u200d\u{1f469}';
    const row = { ...VALID_ROWS['communication_code'], description: family };
    expect(await findViolatedByRow('communication_code', row)).toBeUndefined();
  });
});

describe('positions', () => {
  const valuesOf = async (list: string): Promise<unknown[]> => {
    const query = `select value from code_list_value where code_list = $1 order by position`;
    return (await database.query(query, [list])).map(({ value }) => value as unknown);
  };

  it('of two rows can be exchanged in one statement', async () => {
    // The list has the positions 1 to 3, so this exchanges 1 and 3
    await database.query(`update code_list_value set position = 4 - position where code_list = 'stopReason'`);
    expect(await valuesOf('stopReason')).toEqual(['PickupAndDelivery', 'Delivery', 'Pickup']);
  });

  it('of new rows come at the end of the list, in the order of the rows, also if several sessions insert', async () => {
    const pairs = Array.from({ length: 12 }, (_, at) => [`A${at}`, `B${at}`] as const);
    const insert = `insert into code_list_value (code_list, value) values ('partyType', $1), ('partyType', $2)`;
    await Promise.all(pairs.map((pair) => database.query(insert, [...pair])));
    const values = await valuesOf('partyType');
    expect(values[0]).toBe('Solicitor');
    expect(values).toHaveLength(1 + 2 * pairs.length);
    for (const [first, second] of pairs) expect(values.indexOf(second)).toBe(values.indexOf(first) + 1);
  });
});
