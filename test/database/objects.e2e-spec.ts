import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from '@jest/globals';
import type { Client } from 'pg';
import { OBJECTS, objectFaults } from '../../src/database/objects.js';
import { SETTINGS } from '../../src/database/session.js';
import { createDatabase, queryAt, withSession } from '../support/database.js';

const LIST = 'src/database/objects.json';
const database = await createDatabase();
afterAll(() => database.drop());

/** As the service's role, whose own settings PostgreSQL would obey when it prints definitions. */
const asService = <T>(work: (client: Client) => Promise<T>): Promise<T> =>
  withSession(database.urlOf('order_lookup_service'), async (client) => {
    await client.query(
      `begin read only; set local search_path = ''; set local datestyle = German; set local timezone = 'Asia/Tokyo'; set local quote_all_identifiers = on; ${SETTINGS}`,
    );
    return work(client);
  });

// `npm run test:all -- test/database/objects -u` writes the list
it('the list of objects is what the migrations make', async () => {
  const { rows } = await asService((client) =>
    client.query<{ name: string; statements: string }>(OBJECTS),
  );
  const made = Object.fromEntries(rows.map(({ name, statements }) => [name, statements]));
  const { snapshotState } = expect.getState() as never as { snapshotState: { toString(): string } };
  if (JSON.stringify(snapshotState).includes('"_updateSnapshot":"all"'))
    writeFileSync(LIST, `${JSON.stringify(made, null, 2)}\n`);
  expect(made).toEqual(JSON.parse(readFileSync(LIST, 'utf8')));
});

describe('an object that is not what the migrations made', () => {
  const other = (name: string): string => `${name} is not what the migrations made`;
  const UPDATE = 'trigger record_update of api_key';
  const RECORD = 'function record_change()';
  const POSITIVE = 'code_list_value_position_is_positive';
  const NOTHING = `returns trigger language plpgsql as 'begin return null; end'`;
  const update = (rest: string): string =>
    `create or replace trigger record_update ${rest}; alter table api_key enable always trigger record_update`;
  const ROWS = 'on api_key referencing old table as old_rows new table as new_rows';
  const EACH = 'for each statement execute function';
  const NEVER = 'for each statement when (false) execute function';

  it.each([
    ['alter table api_key disable trigger record_update', `${UPDATE} is switched off`],
    ['alter table api_key enable trigger record_update', other(UPDATE)], // off in session_replication_role = replica
    ['alter table api_key enable replica trigger record_update', other(UPDATE)],
    ['alter trigger record_update on api_key rename to other', `${UPDATE} is missing`],
    [update(`after insert on api_key ${EACH} record_change()`), other(UPDATE)],
    [update(`after update ${ROWS} ${NEVER} record_change()`), other(UPDATE)],
    [
      `create function nothing() ${NOTHING}; ${update(`after update ${ROWS} ${EACH} nothing()`)}`,
      other(UPDATE),
    ],
    [`create or replace function record_change() ${NOTHING}`, other(RECORD)],
    ['alter function record_change() security invoker', other(RECORD)],
    ['alter function record_change() reset search_path', other(RECORD)],
    ['grant execute on function note_key_use to public', other('function note_key_use(uuid[])')],
    [
      'drop function append_area_property cascade',
      'function append_area_property() is missing',
      'trigger append of area_property is missing',
    ],
    [
      'alter table communication_code drop constraint communication_code_is_unique',
      'constraint communication_code_is_unique of communication_code is missing',
    ],
    [
      'alter table code_list drop constraint code_list_is_unique cascade',
      'constraint code_list_is_unique of code_list is missing',
      'constraint area_property_names_a_list of area_property is missing',
      'constraint code_list_value_names_a_list of code_list_value is missing',
    ],
    [
      `alter table code_list_value drop constraint ${POSITIVE}, add constraint ${POSITIVE} check (position > -1)`,
      other(`constraint ${POSITIVE} of code_list_value`),
    ],
    [`delete from revision where topic = 'keys'`, 'row keys of revision is missing'],
    [
      'revoke select on api_key from order_lookup_service',
      'select on api_key for the service is missing',
    ],
    [
      'revoke execute on function note_key_use from order_lookup_service',
      'execute on note_key_use for the service is missing',
    ],
    [
      'grant update on api_key to order_lookup_service; grant trigger on history to public',
      'TRIGGER on history for public is too much',
      'UPDATE on api_key for order_lookup_service is too much',
    ],
  ])('is named and mended by the remedy: %s', async (sql, ...faults) => {
    expect(await asService(objectFaults)).toEqual([]);
    const owner = database.urlOf('order_lookup_owner');
    await queryAt(owner, sql);
    const found = await asService(objectFaults);
    expect(found.map(({ name, fault }) => `${name} ${fault}`)).toEqual(faults);
    await queryAt(owner, found.map(({ remedy }) => remedy).join('\n'));
    expect(await asService(objectFaults)).toEqual([]);
  });
});
