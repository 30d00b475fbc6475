import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from '@jest/globals';
import type { Client } from 'pg';
import { objectFaults, readObjects } from '../../src/database/objects.js';
import { SETTINGS } from '../../src/database/session.js';
import { createDatabase, queryAt, withSession } from '../support/database.js';

const LIST = 'src/database/objects.json';
const database = await createDatabase();
afterAll(() => database.drop());

/** In a session whose own settings PostgreSQL would obey when it prints definitions. */
function readAs<T>(role: string, work: (client: Client) => Promise<T>): Promise<T> {
  return withSession(database.urlOf(role), async (client) => {
    await client.query(
      `begin read only; set local search_path = ''; set local datestyle = German;
       set local timezone = 'Asia/Tokyo'; set local quote_all_identifiers = on; ${SETTINGS}`,
    );
    return work(client);
  });
}

const asService = <T>(work: (client: Client) => Promise<T>) => readAs('order_lookup_service', work);
const asOwner = (sql: string) => queryAt(database.urlOf('order_lookup_owner'), sql);

interface Expected {
  readonly definition: string;
  readonly remedy: readonly string[];
}
const readList = () => JSON.parse(readFileSync(LIST, 'utf8')) as Record<string, Expected>;

// `WRITE_OBJECTS=1 npm run test:all -- test/database/objects` writes the list
it('the list of objects is what the migrations make', async () => {
  const objects = await asService(readObjects);
  const made = Object.fromEntries(objects.map(({ name, definition, remedy }) => [name, { definition, remedy }]));
  if (process.env['WRITE_OBJECTS']) writeFileSync(LIST, `${JSON.stringify(made, null, 2)}\n`);
  expect(made).toEqual(readList());
});

it('every object that is made anew as it is printed is printed the same', async () => {
  const before = await asService(readObjects);
  const rows = before.filter(({ name }) => !name.startsWith('row '));
  await asOwner(rows.flatMap(({ remedy }) => remedy).join('\n'));
  expect(await asService(readObjects)).toEqual(before);
});

/** The statement that removes an object, by its name in the list. */
function removalOf(name: string): string {
  const [, kind = '', object = '', place = ''] = /^(\w+) (.+?)(?: of (\w+)| for the service)?$/.exec(name) ?? [];
  const right = object.replace(/^on /, '');
  const removals: Record<string, string> = {
    function: `drop function ${object} cascade`,
    constraint: `alter table ${place} drop constraint ${object} cascade`,
    column: `alter table ${place} alter column ${object} drop not null`,
    trigger: `drop trigger ${object} on ${place}`,
    row: `delete from ${place} where topic = '${object}'`,
    select: `revoke select on ${right} from order_lookup_service`,
    execute: `revoke execute on function ${right} from order_lookup_service`,
  };
  return removals[kind] ?? '';
}

it('every object is named where it is missing, and its remedy mends it', async () => {
  for (const name of Object.keys(readList())) {
    await asOwner(removalOf(name));
    // The service may be unable to read what was revoked
    const found = await readAs('order_lookup_owner', objectFaults);
    expect(found).toContainEqual({ name, fault: 'is missing', remedy: expect.any(String) });
    await asOwner(found.map(({ remedy }) => remedy).join('\n'));
    expect({ name, faults: await asService(objectFaults) }).toEqual({ name, faults: [] });
  }
});

it('a role that lacks every privilege on tables is named, unless the database does not know it', async () => {
  await asOwner(
    `revoke all on all tables in schema public from order_lookup_service;
     revoke all on all sequences in schema public from order_lookup_service;
     revoke all on all functions in schema public from order_lookup_service`,
  );
  const found = await readAs('order_lookup_owner', objectFaults);
  const missing = Object.keys(readList()).filter((name) => name.endsWith(' for the service'));
  expect(found.map(({ name }) => name)).toEqual(missing);
  await database.query(
    `do $$ begin execute format('revoke connect on database %I from order_lookup_service', current_database()); end $$;
     revoke usage on schema public from order_lookup_service`,
  );
  expect(await readAs('order_lookup_owner', objectFaults)).toEqual([]);
  await database.query(
    `do $$ begin execute format('grant connect on database %I to order_lookup_service', current_database()); end $$;
     grant usage on schema public to order_lookup_service`,
  );
  await asOwner(found.map(({ remedy }) => remedy).join('\n'));
  expect(await asService(objectFaults)).toEqual([]);
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
    // Off in session_replication_role = replica
    ['alter table api_key enable trigger record_update', other(UPDATE)],
    ['alter table api_key enable replica trigger record_update', other(UPDATE)],
    ['alter trigger record_update on api_key rename to other', `${UPDATE} is missing`],
    [update(`after insert on api_key ${EACH} record_change()`), other(UPDATE)],
    [update(`after update ${ROWS} ${NEVER} record_change()`), other(UPDATE)],
    [`create function nothing() ${NOTHING}; ${update(`after update ${ROWS} ${EACH} nothing()`)}`, other(UPDATE)],
    [`create or replace function record_change() ${NOTHING}`, other(RECORD)],
    ['alter function record_change() security invoker', other(RECORD)],
    ['alter function record_change() reset search_path', other(RECORD)],
    ['grant execute on function note_key_use to public', other('function note_key_use(uuid[])')],
    ['revoke execute on function is_clean from public', other('function is_clean(text,integer)')],
    [
      'drop function append_area_property cascade',
      'function append_area_property() is missing',
      'trigger append of area_property is missing',
    ],
    [
      'alter table code_list drop constraint code_list_is_unique cascade',
      'constraint code_list_is_unique of code_list is missing',
      'constraint area_property_names_a_list of area_property is missing',
      'constraint code_list_value_names_a_list of code_list_value is missing',
    ],
    [
      // Its remedy makes the foreign keys, too, which are lost with it
      `alter table code_list drop constraint code_list_is_unique cascade,
         add constraint code_list_is_unique primary key (name) deferrable`,
      other('constraint code_list_is_unique of code_list'),
      'constraint area_property_names_a_list of area_property is missing',
      'constraint code_list_value_names_a_list of code_list_value is missing',
    ],
    [
      `alter table area_property drop constraint area_property_names_a_list,
         add constraint area_property_names_a_list foreign key (code_list) references code_list (name)`,
      other('constraint area_property_names_a_list of area_property'),
    ],
    [
      `alter table code_list_value drop constraint ${POSITIVE},
         add constraint ${POSITIVE} check (position > -1)`,
      other(`constraint ${POSITIVE} of code_list_value`),
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
    [
      `grant update (client), select (client) on api_key to order_lookup_service;
       grant usage on sequence history_id_seq to order_lookup_service`,
      'UPDATE (client) on api_key for order_lookup_service is too much',
      'USAGE on history_id_seq for order_lookup_service is too much',
    ],
  ])('is named and mended by the remedy: %s', async (sql, ...faults) => {
    expect(await asService(objectFaults)).toEqual([]);
    await asOwner(sql);
    const found = await asService(objectFaults);
    expect(found.map(({ name, fault }) => `${name} ${fault}`)).toEqual(faults);
    await asOwner(found.map(({ remedy }) => remedy).join('\n'));
    expect(await asService(objectFaults)).toEqual([]);
  });

  it('is named and mended where the service owns it', async () => {
    await database.query('alter table api_key_use owner to order_lookup_service');
    const found = await asService(objectFaults);
    expect(found).toMatchObject([{ name: 'ownership of api_key_use for order_lookup_service', fault: 'is too much' }]);
    await asOwner(found.map(({ remedy }) => remedy).join('\n'));
    expect(await asService(objectFaults)).toEqual([]);
  });

  it('is no foreign key that was made again without a check of the rows', async () => {
    await asOwner(
      `alter table code_list_value drop constraint code_list_value_names_a_list,
         add constraint code_list_value_names_a_list
           foreign key (code_list) references code_list (name) on update cascade on delete cascade not valid`,
    );
    expect(await asService(objectFaults)).toEqual([]);
  });

  it('is no constraint that somebody has validated', async () => {
    await asOwner('alter table communication_code validate constraint communication_code_has_no_invisible_characters');
    expect(await asService(objectFaults)).toEqual([]);
  });
});
