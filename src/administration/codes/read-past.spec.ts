import { afterAll, expect, it } from '@jest/globals';
import { createDatabase } from '../../../test/support/database.js';
import { withReading } from '../frame/connect.js';
import { readPast } from './read-past.js';
import { show } from './show.command.js';

const database = await createDatabase();
process.env['DATABASE_URL'] = database.url;
afterAll(() => database.drop());

const past = (momentMs: number) => withReading((_session, manager) => readPast(manager, momentMs));
const insert = (code: string) => `insert into communication_code values ('T', '${code}', 'x')`;

it('knows nothing of moments at which a transaction was under way that a deletion has cut', async () => {
  const long = await database.session();
  await long.query(`begin; ${insert('first')}`);
  // A writer of keys, who does not wait for the writer of codes
  await database.query(`insert into api_key (client, key_hash) values ('between', sha256('x'))`);
  await long.query(`select pg_sleep(0.01); ${insert('last')}; commit`);
  const [between, last] = await database.query<{ changed: Date; text: string }>(
    `select changed_at as changed, changed_at::text as text from history
     where new_row ->> 'client' = 'between' or new_row ->> 'code' = 'last' order by id`,
  );
  if (!between || !last) throw new Error('the changes are not recorded');
  await database.query(`delete from history where changed_at < $1`, [between.text]);
  await expect(past(between.changed.getTime() + 2)).rejects.toThrow(
    /^The record of changes begins at .*, and what was answered before is not known\. Give a later moment\.$/,
  );
  const { records } = await past(last.changed.getTime() + 1);
  expect(records.map(({ code }) => code)).toEqual(['first', 'last']);
});

it('refuses the millisecond in which the record begins', async () => {
  await database.query(insert('after'));
  await database.query(
    `begin; set local session_replication_role = replica;
     delete from history; insert into history (changed_at, begun_at, table_name, operation, new_row)
       values ('2026-01-01T00:00:00.0005Z', '2026-01-01T00:00:00.0004Z', 'code_list', 'INSERT', '{"name": "x"}');
     commit`,
  );
  const beginMs = Date.parse('2026-01-01T00:00:00.001Z');
  await expect(past(beginMs - 1)).rejects.toThrow('begins at 2026-01-01T00:00:00.001Z,');
  await expect(past(beginMs)).resolves.toMatchObject({ records: { length: 3 } });
});

it.each(['2999-01-01', undefined])(
  'says for %s that callers get the former answers where the content cannot be served',
  async (at) => {
    await database.query(`delete from area_property where area = 'order-update'`);
    await expect(show.run({ at }, [])).rejects.toThrow(
      /^What is committed now cannot be served: the area order-update .*\. Callers get the answers/,
    );
  },
);
