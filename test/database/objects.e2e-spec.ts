import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Client } from 'pg';
import { objectFaults, readObjects } from '../../src/database/objects.js';
import { type TestDatabase, createDatabase, queryAt, withSession } from '../support/database.js';

const LIST = 'src/database/objects.json';
let database: TestDatabase;
beforeAll(async () => void (database = await createDatabase()));
afterAll(() => database.drop());

/** As the service's role, with settings that PostgreSQL obeys when it prints definitions. */
const asService = <T>(work: (client: Client) => Promise<T>): Promise<T> =>
  withSession(database.urlOf('order_lookup_service'), async (client) => {
    await client.query(
      `begin read only; set local search_path = public; set local datestyle = German; set local timezone = 'Asia/Tokyo'; set local quote_all_identifiers = on`,
    );
    return work(client);
  });

// `npm run test:all -- test/database/objects -u` writes the list
it('the list of objects is what the migrations make', async () => {
  const rows = await asService(readObjects);
  const made = Object.fromEntries(rows.map(({ name, statements }) => [name, statements]));
  const { snapshotState } = expect.getState() as never as { snapshotState: { toString(): string } };
  if (JSON.stringify(snapshotState).includes('"_updateSnapshot":"all"'))
    writeFileSync(LIST, `${JSON.stringify(made, null, 2)}\n`);
  expect(made).toEqual(JSON.parse(readFileSync(LIST, 'utf8')));
});

describe('an object that is not what the migrations made', () => {
  const [MISSING, OFF, OTHER, SURPLUS] = [
    'is missing',
    'is switched off',
    'is not what the migrations made',
    'is too much',
  ];
  const UPDATE = 'trigger record_update of api_key';
  const update = (rest: string): string =>
    `create or replace trigger record_update ${rest}; alter table api_key enable always trigger record_update`;
  const ROWS = 'on api_key referencing old table as old_rows new table as new_rows';
  const EACH = 'for each statement execute function record_change()';

  it.each<[string, ...[name: string, fault: string][]]>([
    ['alter table api_key disable trigger record_update', [UPDATE, OFF]],
    ['alter table api_key enable trigger record_update', [UPDATE, OTHER]], // off in session_replication_role = replica
    ['alter table api_key enable replica trigger record_update', [UPDATE, OTHER]],
    ['alter trigger record_update on api_key rename to other', [UPDATE, MISSING]],
    [update(`after insert on api_key ${EACH}`), [UPDATE, OTHER]],
    [
      update(
        `after update ${ROWS} for each statement when (false) execute function record_change()`,
      ),
      [UPDATE, OTHER],
    ],
    [
      `create function nothing() returns trigger language plpgsql as 'begin return null; end'; ${update(`after update ${ROWS} for each statement execute function nothing()`)}`,
      [UPDATE, OTHER],
    ],
    [
      `create or replace function record_change() returns trigger language plpgsql as 'begin return null; end'`,
      ['function public.record_change()', OTHER],
    ],
    ['alter function record_change() security invoker', ['function public.record_change()', OTHER]],
    [
      'alter function record_change() reset search_path',
      ['function public.record_change()', OTHER],
    ],
    [
      'grant execute on function note_key_use to public',
      ['function public.note_key_use(uuid[])', OTHER],
    ],
    [
      'drop function append_area_property cascade',
      ['function public.append_area_property()', MISSING],
      ['trigger append of area_property', MISSING],
    ],
    [
      'alter table communication_code drop constraint communication_code_is_unique',
      ['constraint communication_code_is_unique of communication_code', MISSING],
    ],
    [
      'alter table code_list drop constraint code_list_is_unique cascade',
      ['constraint code_list_is_unique of code_list', MISSING],
      ['constraint area_property_names_a_list of area_property', MISSING],
      ['constraint code_list_value_names_a_list of code_list_value', MISSING],
    ],
    [
      'alter table code_list_value drop constraint code_list_value_position_is_positive, add constraint code_list_value_position_is_positive check (position > -1)',
      ['constraint code_list_value_position_is_positive of code_list_value', OTHER],
    ],
    ['drop view change_history', ['view change_history', MISSING]],
    [
      'drop view change_history; create view change_history as select 1 as x',
      ['view change_history', OTHER],
    ],
    [`delete from revision where topic = 'keys'`, ['row keys of revision', MISSING]],
    [
      'revoke select on api_key from order_lookup_service',
      ['select on public.api_key for the service', MISSING],
    ],
    [
      'revoke execute on function note_key_use from order_lookup_service',
      ['execute on function public.note_key_use(uuid[]) for the service', MISSING],
    ],
    [
      'grant update on api_key to order_lookup_service; grant delete on history to public',
      ['UPDATE on api_key for order_lookup_service', SURPLUS],
      ['DELETE on history for public', SURPLUS],
    ],
  ])('is named and mended by the remedy: %s', async (sql, ...faults) => {
    expect(await asService(objectFaults)).toEqual([]);
    const owner = database.urlOf('order_lookup_owner');
    await queryAt(owner, sql);
    const found = await asService(objectFaults);
    const named = found.map(({ name, fault }) => [name, fault]);
    expect(named).toHaveLength(faults.length);
    expect(named).toEqual(expect.arrayContaining(faults));
    await queryAt(owner, found.map(({ remedy }) => remedy).join('\n'));
    expect(await asService(objectFaults)).toEqual([]);
  });
});
