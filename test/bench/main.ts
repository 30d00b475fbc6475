// `npm run bench [-- --quick] [--only PATTERN]`: the service beside node:http and a plain Nest service, each in a process of its own, interleaved
// rounds, and ratios within this one run: median (smallest to largest of the rounds). The report goes into RESULTS.md beside this file, too.
import { parseArgs } from 'node:util';
import { type TestDatabase, createDatabase } from '../support/database.js';
import { Issuer } from '../support/issuer.js';
import { type IssuedKey, issueKey } from '../support/keys.js';
import { startMigratedPostgres } from '../support/migrated-postgres.js';
import { PATHS } from '../support/paths.js';
import { freePort } from '../support/postgres-server.js';
import { type Measurement, type Scenario, measure } from './load.js';
import { Server } from './process.js';
import { report } from './report.js';
import { saveResult } from './results.js';

const { quick, only } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, only: { type: 'string', default: '' } },
}).values;
const [rounds, seconds, newTokens] = quick ? [3, 0.8, 1_000] : [5, 3, 5_000];
const [FEW, MANY] = [100, 100_000];
const CONNECTIONS = 32;
const PER_SECOND = 2_000;
const { orderUpdate: UPDATE, communicationCodes: CODES } = PATHS;
const BASE = 'node:http, no credentials';

const postgres = await startMigratedPostgres();
const issuer = await Issuer.start();
const servers: Server[] = [];
const start = async (
  name: string,
  program: string,
  more: Record<string, string> = {},
): Promise<Server> => {
  const [PORT, MANAGEMENT_PORT] = [String(await freePort()), String(await freePort())];
  const general = { ...issuer.environment, HOST: '127.0.0.1', PORT, MANAGEMENT_PORT };
  const server = new Server(name, [program], { ...general, LOG_LEVEL: 'warn', ...more });
  servers.push(server);
  return server;
};
let key: IssuedKey | undefined;
const ours = async (count: number): Promise<{ server: Server; database: TestDatabase }> => {
  const database = await createDatabase({ server: postgres.url });
  key = await issueKey(database, key);
  await database.query(
    `insert into communication_code (code_type, code, description)
     select 'TYPE-' || n % ${Math.max(1, count / 10)}, 'CODE-' || n, rpad('A communication code of the benchmark, number ' || n, 76, '.') from generate_series(1, ${count}) as n`,
  );
  const environment = { DATABASE_URL: database.urlOf('order_lookup_service') };
  return { server: await start(`ours, ${count} codes`, 'dist/main.js', environment), database };
};
/** More filters than the service remembers: where there are few codes, each is spelled in many ways. */
const newFilters = (count: number): string[] =>
  Array.from({ length: 4_000 }, (_, at) => {
    const number = 1 + ((at * 241) % count);
    const spelled = Array.from(`CODE-${number}`, (character, place) =>
      (Math.floor(at / FEW) >> place) & 1 ? `%${character.charCodeAt(0).toString(16)}` : character,
    );
    return `${CODES}?codeType=TYPE-${number % Math.max(1, count / 10)}&code=${spelled.join('')}`;
  });

try {
  const [few, filtered, many] = [await ours(FEW), await ours(FEW), await ours(MANY)];
  const peers = '.data/long-runs/test/bench/peers';
  const floor = await start('node:http', `${peers}/node-http.js`);
  const nest = await start('plain Nest', `${peers}/nest-in-memory.js`, {
    DATABASE_URL: few.database.url,
  });
  const exp = Math.floor(Date.now() / 1000) + 7_200;
  const token = await issuer.token({ claims: { exp } });
  const good = { 'api-key': key?.key ?? '', authorization: `Bearer ${token}` };
  const body = await floor.answers('/', {}, 200);
  for (const { server } of [few, filtered, many]) await server.answers(CODES, good, 200);
  for (const server of [few.server, nest])
    if ((await server.answers(UPDATE, good, 200)) !== body)
      throw new Error(`${server.name} answers something else`);
  const etag = (await fetch(few.server.url + UPDATE, { headers: good })).headers.get('etag') ?? '';
  const tokens = (signer: number): Promise<string[]> =>
    Promise.all(
      Array.from({ length: (rounds + 1) * newTokens }, () =>
        issuer.token({ key: issuer.keys[signer], claims: { exp } }),
      ),
    );
  const changeEverySecond = (): (() => void) => {
    const timer = setInterval(() => {
      void many.database.query(
        `update communication_code set description = 'Changed at ' || clock_timestamp() where code = 'CODE-1'`,
      );
    }, 1_000);
    return () => clearInterval(timer);
  };
  const scenario = (name: string, path: string, rest: Partial<Scenario> = {}): Scenario => ({
    name,
    server: few.server,
    path,
    headers: good,
    status: 200,
    ...rest,
  });
  const one = `${CODES}?codeType=TYPE-1&code=CODE-1`;
  const large = { server: many.server };
  const scenarios = [
    scenario(BASE, '/', { server: floor, headers: {} }),
    scenario('200 order update', UPDATE),
    scenario('200 communication codes (100)', CODES),
    scenario('304', UPDATE, { headers: { ...good, 'if-none-match': etag }, status: 304 }),
    scenario('401 wrong key', UPDATE, { headers: { ...good, 'api-key': 'wrong' }, status: 401 }),
    scenario('404', '/nothing', { status: 404 }),
    scenario(`the same filter, ${FEW} codes`, one, filtered),
    scenario(`the same filter, ${MANY} codes`, one, large),
    scenario(`every filter new, ${FEW} codes`, one, { ...filtered, paths: newFilters(FEW) }),
    scenario(`every filter new, ${MANY} codes`, one, { ...large, paths: newFilters(MANY) }),
    scenario(`${PER_SECOND} a second, ${MANY} codes`, one, { ...large, perSecond: PER_SECOND }),
    scenario(`${PER_SECOND} a second, ${MANY} codes, one changes each second`, one, {
      ...large,
      perSecond: PER_SECOND,
      beside: changeEverySecond,
    }),
    scenario('every token new, RS256', UPDATE, { tokens: await tokens(0) }),
    scenario('every token new, ES256', UPDATE, { tokens: await tokens(1) }),
    scenario('plain Nest that answers from memory: 200 order update', UPDATE, { server: nest }),
  ].filter(({ name }) => name === BASE || new RegExp(only).test(name));
  const results = new Map<string, Measurement[]>(scenarios.map(({ name }) => [name, []]));
  for (let round = 0; round <= rounds; round++) {
    for (const each of scenarios) {
      const slice = each.tokens?.slice(round * newTokens, (round + 1) * newTokens);
      // What happens each second has to happen a few times in a round
      const length = each.perSecond === undefined ? seconds : 2 * seconds;
      const measured = await measure(
        slice ? { ...each, tokens: slice } : each,
        length,
        CONNECTIONS,
      );
      if (round > 0) results.get(each.name)?.push(measured); // the first round warms up
    }
    process.stderr.write(round === 0 ? 'warmed up\n' : `round ${round} of ${rounds}\n`);
  }
  const found = `${report(results, BASE)}

${CONNECTIONS} connections, ${rounds} rounds of ${seconds} s. Peak memory: ${servers.map(({ name, memory }) => `${name} ${Math.round(memory.peak)} MiB`).join('; ')}.`;
  console.log(found);
  if (only === '')
    saveResult('test/bench/RESULTS.md', `npm run bench${quick ? ' -- --quick' : ''}`, found);
} finally {
  for (const server of servers) server.stop();
  await issuer.close();
  await postgres.remove();
}
process.exit(0);
