// Random transactions of four writers. After each step the service has to answer what a query says.
import * as fc from 'fast-check';
import type { Client } from 'pg';
import { answersByQuery } from './answers-by-query.js';
import { issueKey } from './keys.js';
import { PATHS } from './paths.js';
import { until } from './service.js';
import type { World } from './world.js';

const WRITERS = 4;
const KEYS = 4;
/** An area without any property is refused, and the former snapshot stays, so the cascade is followed by one for each. */
const TRUNCATE_CASCADE = `truncate code_list cascade; insert into code_list values ('orderType');
  insert into area_property (area, property, code_list) values ('order-update', 'type', 'orderType'), ('order-capture-v2', 'type', 'orderType')`;
const LOCK_NOT_AVAILABLE = '55P03';

const CODES = 'communication_code';
const PLACES: Record<string, readonly string[]> = {
  type: [`'T1'`, `'T2'`, `'T3'`],
  code: Array.from({ length: 12 }, (_, at) => `'C${at}'`),
  text: [`'plain'`, `'"quoted"'`, `'back\\slash'`, `'größer'`, `'𝄞'`],
  begin: ['null', `now() - interval '1 day'`, `now() + interval '1 day'`],
  rows: [`code_type = 'T1'`, `code_type = 'T2'`, `code = 'C3'`, `code = 'C4'`],
  list: [`'orderType'`, `'partyType'`, `'orderStatus'`],
  key: Array.from({ length: KEYS }, (_, at) => `'key ${at}'`),
  at: ['null', 'now()'],
  level: ['read committed', 'repeatable read', 'serializable'],
};
/** What a writer may do, as often as it stands here. */
const ACTIONS = [
  `insert into ${CODES} values ({type}, {code}, {text}, {begin}, null)`,
  `insert into ${CODES} values ({type}, {code}, {text}, {begin}, null) on conflict (code_type, code) do update set description = {text}`,
  `insert into ${CODES} select {type}, 'N' || n, {text} from generate_series(1, 1500) as n on conflict do nothing`,
  `update ${CODES} set description = {text} where {rows}`,
  `update ${CODES} set code = {code} where {rows}`,
  `update ${CODES} set valid_from = {begin} where {rows}`,
  `delete from ${CODES} where {rows}`,
  `truncate ${CODES}`,
  TRUNCATE_CASCADE,
  'truncate code_list_value',
  'insert into code_list_value (code_list, value) values ({list}, {text})',
  'insert into code_list values ({list})',
  'update code_list set name = {list} where name = {list}',
  'delete from code_list_value where code_list = {list} and position % 2 = 0',
  `insert into area_property (area, property, code_list) values ('order-update', 'p' || {list}, {list})`,
  'update api_key set revoked_at = {at} where client = {key}',
  ...Array<string>(4).fill('begin isolation level {level}'),
  ...Array<string>(5).fill('commit'),
  ...['savepoint s', 'rollback to s', 'release s', 'rollback'],
];
/** A statement, with a choice for each place in it. */
const statement = fc
  .tuple(fc.constantFrom(...ACTIONS), fc.infiniteStream(fc.nat()))
  .map(([action, choices]) =>
    action.replace(/\{(\w+)\}/g, (_, name: string) => {
      const words = PLACES[name] ?? [];
      return words[Number(choices.next().value) % words.length] ?? '';
    }),
  );
const step = fc.record({ writer: fc.nat(WRITERS - 1), sql: statement });

/** What differed after which step, with the steps before it; the run ends with the first. */
export async function randomTransactions(world: World, steps: number, seed: number) {
  const { database } = world;
  const clients: Client[] = [];
  const counts: Record<string, number> = {};
  const done: string[] = [];
  const keys = await Promise.all(
    Array.from({ length: KEYS }, (_, at) => issueKey(database, { client: `key ${at}` })),
  );
  for (let writer = 0; writer < WRITERS; writer++) {
    const client = await database.session();
    clients.push(client);
    await client.query(`set lock_timeout = '100ms'`); // whoever waits for another writer fails
  }
  const ask = (path: string, key = world.key.key): Promise<Response> =>
    fetch(world.service.url + path, { headers: { ...world.headers, 'Api-Key': key } });
  /** How the answers differ from what a query says. */
  const difference = async (): Promise<string | undefined> => {
    const wanted = await answersByQuery(database);
    const revoked = await database.query('select client from api_key where revoked_at <= now()');
    for (const [path, body] of Object.entries(wanted)) {
      const given = await (await ask(path)).text();
      if (given !== body) return `${path} gives ${given.slice(0, 300)}, not ${body.slice(0, 300)}`;
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
}
