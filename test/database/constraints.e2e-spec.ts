import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type TestDatabase, createDatabase } from '../support/database.js';

/** SQL and its one parameter. */
type Statement = readonly [string, string];

let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
  await database.query(
    `insert into communication_code (code_type, code, description) values ('T', 'taken', 'Taken')`,
  );
  await database.query(`insert into api_key (client, key_hash) values ('taken', sha256('taken'))`);
});
afterAll(() => database.drop());

const value = (text: string): Statement => [
  `insert into code_list_value (code_list, value) values ('orderType', $1)`,
  text,
];
const codeType = (text: string): Statement => [
  `insert into communication_code (code_type, code, description) values ($1, 'C', 'D')`,
  text,
];
const code = (text: string): Statement => [
  `insert into communication_code (code_type, code, description) values ('T', $1, 'D')`,
  text,
];
const description = (text: string): Statement => [
  `insert into communication_code (code_type, code, description) values ('T', md5($1), $1)`,
  text,
];
const client = (text: string): Statement => [
  `insert into api_key (client, key_hash) values ($1::text, sha256(convert_to($1::text, 'UTF8')))`,
  text,
];
const list = (text: string): Statement => ['insert into code_list (name) values ($1)', text];
const property = (text: string): Statement => [
  `insert into area_property (area, property, code_list) values ('order-update', $1, 'orderType')`,
  text,
];
const expiry = (text: string): Statement => [
  `insert into api_key (client, key_hash, expires_at) values ('c', sha256('k'), $1)`,
  text,
];
const hash = (text: string): Statement => [
  `insert into api_key (client, key_hash) values ('c', convert_to($1, 'UTF8'))`,
  text,
];

const TEXTS = [
  [value, 'code_list_value_is_clean_text_of_256_characters', 256],
  [codeType, 'communication_code_type_is_clean_text_of_256_characters', 256],
  [code, 'communication_code_is_clean_text_of_256_characters', 256],
  [description, 'communication_code_description_is_clean_text_of_1024_characters', 1024],
  [client, 'api_key_client_is_clean_text_of_128_characters', 128],
] as const;
const SPACES = ' \t\n\v\f\r\u0085\u00a0\u1680\u2003\u2028\u2029\u202f\u205f\u3000\ufeff'.split('');
const CONTROLS = '\u0001\u001b\u001f\u007f\u0080\u009f\u2028\u2029\n\t'.split('');

const violated = async (sql: string, parameter: string): Promise<string | undefined> => {
  try {
    await database.query(sql, [parameter]);
  } catch (error) {
    return (error as { constraint?: string }).constraint;
  }
  return undefined;
};

describe('the tables refuse what the service could not serve', () => {
  it.each(TEXTS)('unclean text: %o names %s', async (statement, constraint, most) => {
    const unclean = [
      '',
      'x'.repeat(most + 1),
      ...SPACES.flatMap((s) => [s, `${s}x`, `x${s}`]),
      ...CONTROLS.map((c) => `x${c}x`),
    ];
    const accepted: string[] = [];
    for (const text of unclean)
      if ((await violated(...statement(text))) !== constraint) accepted.push(JSON.stringify(text));
    expect(accepted).toEqual([]);
  });

  it.each(TEXTS)(
    'no more than that: %o',
    async (statement, _constraint, most) => {
      for (const text of ['𝄞'.repeat(most), 'a b', '"\\é'])
        expect(await violated(...statement(text))).toBeUndefined();
      await database.query(`delete from communication_code where code <> 'taken'`);
      await database.query(
        `delete from code_list_value where code_list = 'orderType' and position > 2`,
      );
      await database.query(`delete from api_key where client <> 'taken'`);
    },
    10_000,
  );

  it.each([
    [...value('Standard'), 'code_list_value_is_unique_in_its_list'],
    [
      `insert into code_list_value (code_list, value, position) values ('orderType', $1, 1)`,
      'X',
      'code_list_value_position_is_unique_in_its_list',
    ],
    [
      `insert into code_list_value (code_list, value, position) values ('orderType', $1, 0)`,
      'X',
      'code_list_value_position_is_positive',
    ],
    [
      `insert into code_list_value (code_list, value) values ('absent', $1)`,
      'X',
      'code_list_value_names_a_list',
    ],
    [...code('taken'), 'communication_code_is_unique'],
    ...(
      [
        [
          `insert into code_list_value (code_list, value, valid_from, valid_until) values ('orderType', 'X', `,
          'code_list_value',
        ],
        [
          `insert into communication_code (code_type, code, description, valid_from, valid_until) values ('X', 'X', 'X', `,
          'communication_code',
        ],
      ] as const
    ).flatMap(([insert, table]) =>
      (
        [
          [`null, $1)`, 'infinity', 'ends_in_the_years_1_to_9999'],
          [`null, $1)`, '10000-01-01T00:00:00Z', 'ends_in_the_years_1_to_9999'],
          [`$1, null)`, '-infinity', 'begins_in_the_years_1_to_9999'],
          [`$1, null)`, '0001-12-31T23:59:59Z BC', 'begins_in_the_years_1_to_9999'],
          [`$1, null)`, '10000-01-01T00:00:00Z', 'begins_in_the_years_1_to_9999'],
          [`$1, '2030-01-01')`, '2030-01-01', 'ends_after_it_begins'],
          [`$1, '2030-01-01')`, '2030-01-02', 'ends_after_it_begins'],
        ] as const
      ).map(
        ([values, moment, constraint]) =>
          [insert + values, moment, `${table}_${constraint}`] as const,
      ),
    ),
    ...['', '1st', ' a', 'a b', 'a'.repeat(65), 'ü'].map(
      (name) => [...list(name), 'code_list_name_is_a_short_identifier'] as const,
    ),
    [...list('orderType'), 'code_list_is_unique'],
    ...['', 'Upper', '1st', '__proto__', 'a b', 'a-b', 'a'.repeat(65), 'ü'].map(
      (name) => [...property(name), 'area_property_is_a_json_name'] as const,
    ),
    [...property('orderType'), 'area_property_is_unique_in_its_area'],
    [
      `insert into area_property (area, property, position, code_list) values ('order-update', $1, 1, 'orderType')`,
      'x',
      'area_property_position_is_unique_in_its_area',
    ],
    [
      `insert into area_property (area, property, code_list) values ($1, 'x', 'orderType')`,
      'order-capture',
      'area_property_area_is_known',
    ],
    [
      `insert into area_property (area, property, code_list) values ('order-update', 'x', $1)`,
      'absent',
      'area_property_names_a_list',
    ],
    ['delete from code_list where name = $1', 'orderType', 'area_property_names_a_list'],
    [...hash('x'.repeat(31)), 'api_key_hash_is_sha_256'],
    [...hash('x'.repeat(33)), 'api_key_hash_is_sha_256'],
    [
      `insert into api_key (client, key_hash) values ('c', sha256($1::bytea))`,
      'taken',
      'api_key_hash_is_unique',
    ],
    [...expiry('infinity'), 'api_key_expiry_is_in_the_years_1_to_9999'],
    [...expiry('10000-01-01'), 'api_key_expiry_is_in_the_years_1_to_9999'],
    [...expiry('2001-01-01'), 'api_key_expires_after_it_is_created'],
  ] as const)('%s with %j names %s', async (sql, parameter, constraint) => {
    expect(await violated(sql, parameter)).toBe(constraint);
  });
});

describe('positions', () => {
  it('can be exchanged in one statement', async () => {
    await database.query(
      `update code_list_value set position = 4 - position where code_list = 'stopReason'`,
    );
    expect(
      await database.query(
        `select value from code_list_value where code_list = 'stopReason' order by position`,
      ),
    ).toEqual(['PickupAndDelivery', 'Delivery', 'Pickup'].map((text) => ({ value: text })));
  });

  it('are given at the end of the list, in the order of the rows, by however many at once', async () => {
    const added = Array.from(
      { length: 12 },
      (_, at) => `(('partyType'), 'A${at}'), (('partyType'), 'B${at}')`,
    );
    await Promise.all(
      added.map((rows) =>
        database.query(`insert into code_list_value (code_list, value) values ${rows}`),
      ),
    );
    const rows = await database.query<{ value: string; position: number }>(
      `select value, position from code_list_value where code_list = 'partyType' order by position`,
    );
    expect(rows.map(({ position }) => position)).toEqual(
      Array.from({ length: 25 }, (_, at) => at + 1),
    );
    expect(rows[0]?.value).toBe('Solicitor');
    for (let at = 0; at < 12; at++) {
      const [first, second] = ['A', 'B'].map((letter) =>
        rows.findIndex((row) => row.value === `${letter}${at}`),
      );
      expect(second).toBe((first as number) + 1);
    }
  });
});
