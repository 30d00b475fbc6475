// Random transactions of four writers. After each step the service has to answer what a query says.
import * as fc from 'fast-check';
import { Client } from 'pg';
import { answersByQuery } from './answers-by-query.js';
import { issueKey } from './keys.js';
import { PATHS } from './paths.js';
import { until } from './service.js';
import { World } from './world.js';

const WRITERS = 4;
const KEYS = 4;
/** An area without any property is refused, and the former snapshot stays, so the cascade is followed by one for each. */
const TRUNCATE_CASCADE = `truncate code_list cascade; insert into code_list values ('orderType');
  insert into area_property (area, property, code_list) values ('order-update', 'type', 'orderType'), ('order-capture-v2', 'type', 'orderType')`;
const LOCK_NOT_AVAILABLE = '55P03';

export interface RandomTransactions {
  readonly counts: Readonly<Record<string, number>>;
  /** What differed after which step, with the steps before it; the run ends with the first. */
  readonly difference: string | undefined;
}

const pick = (...words: string[]): fc.Arbitrary<string> => fc.constantFrom(...words);
const type = pick(`'T1'`, `'T2'`, `'T3'`);
const code = fc.integer({ max: 12, min: 1 }).map((n) => `'C${n}'`);
const text = pick(`'plain'`, `'"quoted"'`, `'back\\slash'`, `'größer'`, `'𝄞'`);
const begin = pick('null', `now() - interval '1 day'`, `now() + interval '1 day'`);
const row = fc.tuple(type, code, text, begin).map((values) => `(${values.join()}, null)`);
const where = fc.oneof(
  type.map((name) => `code_type = ${name}`),
  code.map((name) => `code = ${name}`),
);
const list = pick(`'orderType'`, `'partyType'`, `'orderStatus'`);
const CODES = 'communication_code';

const statement = fc.oneof(
  row.map((values) => `insert into ${CODES} values ${values}`),
  fc
    .tuple(row, text)
    .map(
      ([values, said]) =>
        `insert into ${CODES} values ${values} on conflict (code_type, code) do update set description = ${said}`,
    ),
  fc
    .tuple(type, text)
    .map(
      ([name, said]) =>
        `insert into ${CODES} select ${name}, 'N' || n, ${said} from generate_series(1, 1500) as n on conflict do nothing`,
    ),
  fc
    .tuple(text, where)
    .map(([said, rows]) => `update ${CODES} set description = ${said} where ${rows}`),
  fc.tuple(code, where).map(([name, rows]) => `update ${CODES} set code = ${name} where ${rows}`),
  fc
    .tuple(begin, where)
    .map(([from, rows]) => `update ${CODES} set valid_from = ${from} where ${rows}`),
  where.map((rows) => `delete from ${CODES} where ${rows}`),
  pick(`truncate ${CODES}`, TRUNCATE_CASCADE, 'truncate code_list_value'),
  fc
    .tuple(list, text)
    .map(
      ([name, said]) => `insert into code_list_value (code_list, value) values (${name}, ${said})`,
    ),
  list.map((name) => `insert into code_list values (${name})`),
  fc
    .tuple(list, list)
    .map(([from, to]) => `update code_list set name = ${to} where name = ${from}`),
  list.map((name) => `delete from code_list_value where code_list = ${name} and position % 2 = 0`),
  list.map(
    (name) =>
      `insert into area_property (area, property, code_list) values ('order-update', 'p' || ${name}, ${name})`,
  ),
  fc
    .tuple(fc.nat(KEYS - 1), pick('null', 'now()'))
    .map(([number, at]) => `update api_key set revoked_at = ${at} where client = 'key ${number}'`),
);
const action = fc.oneof(
  { weight: 12, arbitrary: statement },
  {
    weight: 3,
    arbitrary: pick('read committed', 'repeatable read', 'serializable').map(
      (level) => `begin isolation level ${level}`,
    ),
  },
  { weight: 4, arbitrary: pick('commit') },
  { weight: 3, arbitrary: pick('savepoint s', 'rollback to s', 'release s', 'rollback') },
);
const step = fc.record({ writer: fc.nat(WRITERS - 1), sql: action });

export async function randomTransactions(steps: number, seed: number): Promise<RandomTransactions> {
  const world = await World.create();
  const { database } = world;
  const clients: Client[] = [];
  const counts: Record<string, number> = {};
  const done: string[] = [];
  try {
    const keys = await Promise.all(
      Array.from({ length: KEYS }, (_, at) => issueKey(database, { client: `key ${at}` })),
    );
    for (let writer = 0; writer < WRITERS; writer++) {
      const client = new Client(database.url);
      clients.push(client);
      await client.connect();
      await client.query(`set lock_timeout = '100ms'`); // whoever waits for another writer fails
    }
    const ask = (path: string, key = world.key.key): Promise<Response> =>
      fetch(world.service.url + path, {
        headers: { 'Api-Key': key, Authorization: `Bearer ${world.token}` },
      });
    /** How the answers differ from what a query says. */
    const difference = async (): Promise<string | undefined> => {
      const wanted = await answersByQuery(database);
      const revoked = await database.query('select client from api_key where revoked_at <= now()');
      for (const [path, body] of Object.entries(wanted)) {
        const given = await (await ask(path)).text();
        if (given !== body)
          return `${path} gives ${given.slice(0, 300)}, not ${body.slice(0, 300)}`;
      }
      for (const [at, { key }] of keys.entries()) {
        const status = revoked.some(({ client }) => client === `key ${at}`) ? 401 : 200;
        const { status: given } = await ask(PATHS.orderUpdate, key);
        if (given !== status) return `key ${at} gets ${given}, not ${status}`;
      }
      return undefined;
    };
    /** Whether they agree, or a writer holds a lock that lets nobody ask. */
    const agrees = async (): Promise<boolean> => {
      const locked = await database.query(
        `select from pg_locks where mode = 'AccessExclusiveLock' and granted and relation is not null and database = (select oid from pg_database where datname = current_database())`,
      );
      return locked.length > 0 || (await difference()) === undefined;
    };
    for (const { writer, sql } of fc.sample(step, { numRuns: steps, seed })) {
      const client = clients[writer] as Client;
      const outcome = await client.query(sql).then(
        () => sql.split(' ', 1)[0] as string,
        async ({ code: state }: { code?: string }) => {
          await client.query('rollback');
          return state === LOCK_NOT_AVAILABLE ? 'waited' : 'failed';
        },
      );
      counts[outcome] = (counts[outcome] ?? 0) + 1;
      done.push(`${writer}: ${sql} (${outcome})`);
      const isRight = await until(agrees, { timeoutMs: 20_000 }).then(
        () => true,
        () => false,
      );
      if (isRight) continue;
      const said = `seed ${seed}, step ${done.length}: ${await difference()}\n${done.slice(-20).join('\n')}`;
      return { counts, difference: said };
    }
    return { counts, difference: undefined };
  } finally {
    await Promise.all(clients.map((client) => client.end()));
    await world.close();
  }
}
