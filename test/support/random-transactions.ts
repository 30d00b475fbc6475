// Random transactions of four writers, restores and failovers, in random order. After each step both replicas have to answer what a query says.
import * as fc from 'fast-check';
import { Client } from 'pg';
import { answersByQuery } from './answers-by-query.js';
import { type TestDatabase, createDatabase } from './database.js';
import { Issuer } from './issuer.js';
import { type IssuedKey, issueKey } from './keys.js';
import { startMigratedPostgres } from './migrated-postgres.js';
import { PATHS } from './paths.js';
import { Proxy } from './proxy.js';
import { RunningService, until } from './service.js';

const NAME = 'orders';
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
const type = fc.integer({ max: 4, min: 1 }).map((n) => `'T${n}'`);
const code = fc.integer({ max: 12, min: 1 }).map((n) => `'C${n}'`);
const text = pick('plain', '"quoted"', 'back\\slash', 'größer', '𝄞').map((word) => `'${word}'`);
const begin = pick('null', `now() - interval '1 day'`, `now() + interval '1 day'`);
const row = fc.tuple(type, code, text, begin).map((values) => `(${values.join()}, null)`);
const where = fc.oneof(
  type.map((name) => `code_type = ${name}`),
  code.map((name) => `code = ${name}`),
);
const list = pick('orderType', 'partyType', 'orderStatus').map((name) => `'${name}'`);

const statement = fc.oneof(
  row.map((values) => `insert into communication_code values ${values}`),
  fc
    .tuple(row, text)
    .map(
      ([values, said]) =>
        `insert into communication_code values ${values} on conflict (code_type, code) do update set description = ${said}`,
    ),
  fc
    .tuple(type, text)
    .map(
      ([name, said]) =>
        `insert into communication_code select ${name}, 'N' || n, ${said} from generate_series(1, 1500) as n on conflict do nothing`,
    ),
  fc
    .tuple(text, where)
    .map(([said, rows]) => `update communication_code set description = ${said} where ${rows}`),
  fc
    .tuple(code, where)
    .map(([name, rows]) => `update communication_code set code = ${name} where ${rows}`),
  fc
    .tuple(begin, where)
    .map(([from, rows]) => `update communication_code set valid_from = ${from} where ${rows}`),
  where.map((rows) => `delete from communication_code where ${rows}`),
  fc.tuple(row, text).map(
    ([values, said]) =>
      `merge into communication_code c using (values ${values}) n (code_type, code, description) on (c.code_type, c.code) = (n.code_type, n.code)
         when matched and c.description = ${said} then delete when matched then update set description = n.description
         when not matched then insert values (n.code_type, n.code, n.description, null, null)`,
  ),
  fc
    .tuple(type, code)
    .map(
      (key) =>
        `copy communication_code from program 'echo ${key.join().replaceAll(`'`, '')},copied,,' (format csv)`,
    ),
  pick('truncate communication_code', TRUNCATE_CASCADE, 'truncate code_list_value'),
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
    .tuple(fc.integer({ min: 0, max: KEYS - 1 }), pick('null', 'now()'))
    .map(([number, at]) => `update api_key set revoked_at = ${at} where client = 'key ${number}'`),
);
const level = pick('read committed', 'repeatable read', 'serializable');
const action = fc.oneof(
  { weight: 12, arbitrary: statement },
  { weight: 3, arbitrary: level.map((name) => `begin isolation level ${name}`) },
  { weight: 4, arbitrary: pick('commit') },
  { weight: 3, arbitrary: pick('savepoint s', 'rollback to s', 'release s', 'rollback') },
);
const step = fc.oneof(
  {
    weight: 24,
    arbitrary: fc.record({ writer: fc.integer({ min: 0, max: WRITERS - 1 }), sql: action }),
  },
  { weight: 1, arbitrary: fc.record({ event: pick('copy', 'restore', 'fork', 'failover') }) },
);
type Step = { writer: number; sql: string } | { event: string };

export async function randomTransactions(steps: number, seed: number): Promise<RandomTransactions> {
  const world = await World.create();
  const counts: Record<string, number> = {};
  const done: string[] = [];
  try {
    for (const next of fc.sample<Step>(step, { numRuns: steps, seed })) {
      const outcome =
        'event' in next ? await world.happen(next.event) : await world.write(next.writer, next.sql);
      counts[outcome] = (counts[outcome] ?? 0) + 1;
      done.push(`${JSON.stringify(next)}: ${outcome}`);
      const agree = async (): Promise<boolean> => (await world.difference()) === undefined;
      await until(agree, { timeoutMs: 60_000 }).catch(() => undefined);
      const difference = await world.difference();
      if (difference === undefined) continue;
      const said = `seed ${seed}, step ${done.length}: ${difference}\n${done.slice(-20).join('\n')}`;
      return { counts, difference: said };
    }
    return { counts, difference: undefined };
  } finally {
    await world.close();
  }
}

/** A server, the copies that may take its place, two replicas behind a proxy, and the writers. */
class World {
  private fork: typeof this.server | undefined;
  /** The writers, and one that observes. */
  private clients: Client[] = [];

  private constructor(
    private server: Awaited<ReturnType<typeof startMigratedPostgres>>,
    private readonly proxy: Proxy,
    private readonly issuer: Issuer,
    private readonly token: string,
    private readonly keys: readonly IssuedKey[],
    private readonly replicas: readonly RunningService[],
  ) {}

  static async create(): Promise<World> {
    const server = await startMigratedPostgres();
    const database = await createDatabase({ server: server.url, name: NAME });
    const [issuer, proxy] = await Promise.all([Issuer.start(), Proxy.before(server.port)]);
    const keys: IssuedKey[] = [];
    for (let number = 0; number < KEYS; number++)
      keys.push(await issueKey(database, { client: `key ${number}` }));
    keys.push(await issueKey(database, { client: 'reader' }));
    const environment = {
      ...issuer.environment,
      DATABASE_URL: proxy.through(database.urlOf('order_lookup_service')),
    };
    await database.close();
    const replicas = await Promise.all([1, 2].map(() => RunningService.start(environment)));
    await Promise.all(replicas.map((replica) => replica.ready()));
    const world = new World(server, proxy, issuer, await issuer.token(), keys, replicas);
    await world.connect();
    return world;
  }

  async close(): Promise<void> {
    await Promise.all(this.replicas.map((replica) => replica.kill()));
    await Promise.all(this.clients.map((client) => client.end()));
    await this.issuer.close();
    this.proxy.close();
    await this.fork?.remove();
    await this.server.remove();
  }

  async write(writer: number, sql: string): Promise<string> {
    const client = this.clients[writer] as Client;
    try {
      await client.query(sql);
      return sql.split(' ', 1)[0] as string;
    } catch {
      await client.query('rollback');
      return 'failed';
    }
  }

  /** Gives what happened. */
  async happen(event: string): Promise<string> {
    const copies = await this.atServer(
      `select from pg_database where datname = '${NAME}_copy'`,
      false,
    );
    if (event === 'copy' && copies === 0) {
      await this.atServer(`create database ${NAME}_copy template ${NAME}`);
    } else if (event === 'restore' && copies === 1) {
      await this.atServer(
        `drop database ${NAME}`,
        true,
        `alter database ${NAME}_copy rename to ${NAME}`,
      );
    } else if (event === 'fork' && !this.fork) {
      this.fork = await this.server.standby();
      await this.cutOff(this.fork.url); // what is committed from now on is lost by a failover
    } else if (event === 'failover' && this.fork) {
      await this.disconnect();
      await query(this.fork.url, 'select pg_promote()');
      const { server } = this;
      [this.server, this.fork] = [this.fork, undefined];
      this.proxy.port = this.server.port;
      await server.remove();
      await this.connect();
    } else return 'nothing';
    return event;
  }

  /** How the answers of a replica differ from what a query says. Nothing while a writer holds a lock that lets nobody ask. */
  async difference(): Promise<string | undefined> {
    try {
      return await this.compare();
    } catch (error) {
      if ((error as { code?: string }).code === LOCK_NOT_AVAILABLE) return undefined;
      throw error;
    }
  }

  private async compare(): Promise<string | undefined> {
    const observed = this.clients[WRITERS] as Client;
    const database = {
      query: async (sql: string) => (await observed.query(sql)).rows,
    } as unknown as TestDatabase;
    const wanted: Record<string, string> = await answersByQuery(database);
    const all = JSON.parse(wanted[PATHS.communicationCodes] as string) as {
      communicationRecords: { code: string; codeType: string }[];
    };
    const having = (holds: (record: { code: string; codeType: string }) => boolean): string =>
      JSON.stringify({ communicationRecords: all.communicationRecords.filter(holds) });
    wanted[`${PATHS.communicationCodes}?code=C3`] = having((record) => record.code === 'C3');
    wanted[`${PATHS.communicationCodes}?codeType=T3`] = having(({ codeType }) => codeType === 'T3');
    const revoked = await database.query(`select client from api_key where revoked_at <= now()`);
    for (const { url } of this.replicas) {
      for (const [path, body] of Object.entries(wanted)) {
        const given = await (await this.ask(url + path, this.keys[KEYS])).text();
        if (given !== body)
          return `${path} gives ${given.slice(0, 300)}, not ${body.slice(0, 300)}`;
      }
      for (const [number, key] of this.keys.entries()) {
        const status = revoked.some(({ client }) => client === `key ${number}`) ? 401 : 200;
        const { status: given } = await this.ask(url + PATHS.orderUpdate, key);
        if (given !== status) return `key ${number} gets ${given}, not ${status}`;
      }
    }
    return undefined;
  }

  private ask(url: string, key: IssuedKey | undefined): Promise<Response> {
    const headers = { 'Api-Key': key?.key ?? '', Authorization: `Bearer ${this.token}` };
    return fetch(url, { headers });
  }

  private async connect(): Promise<void> {
    const open = async (): Promise<Client> => {
      const client = new Client(
        Object.assign(new URL(this.server.url), { pathname: `/${NAME}` }).href,
      );
      client.on('error', () => undefined);
      await client.connect();
      await client.query(`set lock_timeout = '100ms'`); // whoever waits for another writer fails
      return client;
    };
    this.clients = await Promise.all(Array.from({ length: WRITERS + 1 }, open));
  }

  private async disconnect(): Promise<void> {
    await Promise.all(this.clients.map((client) => client.end()));
    this.proxy.cut();
  }

  /** Runs statements beside the database, with its sessions ended. */
  private async atServer(sql: string, alone = true, ...more: string[]): Promise<number> {
    if (!alone) return query(this.server.url, sql);
    await this.disconnect();
    await query(
      this.server.url,
      `alter database ${NAME} allow_connections false`,
      `select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = '${NAME}'`,
    );
    const count = await query(this.server.url, sql, ...more);
    await query(this.server.url, `alter database ${NAME} allow_connections true`);
    await this.connect();
    return count;
  }

  private async cutOff(standby: string): Promise<void> {
    await query(standby, `alter system set primary_conninfo = ''`, 'select pg_reload_conf()');
    await until(async () => (await query(standby, 'select from pg_stat_wal_receiver')) === 0);
  }
}

/** Runs statements one by one, and gives the number of rows of the last. */
async function query(url: string, ...statements: string[]): Promise<number> {
  const client = new Client(url);
  await client.connect();
  try {
    let count = 0;
    for (const sql of statements) count = (await client.query(sql)).rowCount ?? 0;
    return count;
  } finally {
    await client.end();
  }
}
