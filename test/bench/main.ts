// `npm run bench [-- --quick] [--only PATTERN] [--json FILE] [--against FILE]`: each server in a process of its own, interleaved rounds, medians, and ratios within this one run.
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { generateApiKey } from '../../src/auth/api-keys/api-key.js';
import { createDatabase } from '../support/database.js';
import { Issuer } from '../support/issuer.js';
import { issueKey } from '../support/keys.js';
import { startMigratedPostgres } from '../support/migrated-postgres.js';
import { PATHS } from '../support/paths.js';
import { freePort } from '../support/postgres-server.js';
import { changeEverySecond, fill, scheduleMoments } from './database.js';
import { filterOf, newFilters } from './filters.js';
import { compareWith, saveRun } from './compare.js';
import { type Measurement, type Scenario, measure } from './load.js';
import { type OverloadMeasurement, measureOverload } from './overload.js';
import { measureMoment } from './moment.js';
import { Server } from './process.js';
import {
  type Findings,
  AHEAD,
  NONE_AHEAD,
  RELOADING,
  SLEEPS,
  STEADY,
  WRITING,
  filterScenario,
  ratiosOf,
  report,
} from './report.js';

const {
  values: { quick, only = '', json, against },
} = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    /** A regular expression: the scenarios to measure, beside those of node:http. */
    only: { type: 'string' },
    json: { type: 'string' },
    against: { type: 'string' },
  },
});
const MIDDLE = 100_000;
const [rounds, seconds, many, newTokens] = quick
  ? [3, 0.8, MIDDLE, 1_000]
  : [5, 3, 1_000_000, 5_000];
const CONNECTIONS = 32;
const MOMENTS = 1_000;
/** Times the seconds of the others: what happens each second has to happen a few times in a round. */
const LONGER = 2;
const { orderUpdate: UPDATE, orderCaptureV2: CAPTURE, communicationCodes: CODES } = PATHS;

const postgres = await startMigratedPostgres();
process.env['TEST_POSTGRES_URL'] = postgres.url;
const issuer = await Issuer.start();
const apiKey = generateApiKey();

const servers: Server[] = [];
const start = async (
  name: string,
  program: string,
  environment: Record<string, string> = {},
): Promise<Server> => {
  const [port, managementPort] = [await freePort(), await freePort()];
  const settings = {
    ...issuer.environment,
    HOST: '127.0.0.1',
    PORT: String(port),
    MANAGEMENT_PORT: String(managementPort),
    LOG_LEVEL: 'warn',
    ...environment,
  };
  const server = new Server(
    name,
    `http://127.0.0.1:${port}`,
    `http://127.0.0.1:${managementPort}`,
    [program],
    settings,
  );
  servers.push(server);
  return server;
};
const ours = async (count: number): Promise<{ server: Server; url: string }> => {
  const database = await createDatabase();
  await issueKey(database, { key: apiKey });
  if (count > 0) await fill(database.url, count);
  return {
    server: await start(`ours, ${count.toLocaleString('en')} codes`, 'dist/main.js', {
      DATABASE_URL: database.urlOf('order_lookup_service'),
    }),
    url: database.url,
  };
};

try {
  const [empty, few, filtering, middle] = [
    await ours(0),
    await ours(100),
    await ours(100),
    await ours(MIDDLE),
  ];
  const large = many === MIDDLE ? middle : await ours(many);
  const [unmoved, ahead] = [await ours(100), await ours(100)];
  await scheduleMoments(ahead.url, MOMENTS);
  const elsewhere = await createDatabase();
  await fill(elsewhere.url, MIDDLE);
  const peers = '.data/long-runs/test/bench/peers';
  const floor = await start('node:http', `${peers}/node-http.js`);
  const nest = await start('plain Nest', `${peers}/plain-nest.js`, { DATABASE_URL: few.url });
  const fastify = await start('Fastify', `${peers}/fastify.js`, { DATABASE_URL: few.url });
  const token = await issuer.token({ claims: { exp: Math.floor(Date.now() / 1000) + 7200 } });
  const good = { 'api-key': apiKey, authorization: `Bearer ${token}` };
  const body = await floor.answers('/', {}, 200);
  for (const { server } of [empty, few, filtering, middle, large])
    await server.answers(CODES, good, 200);
  for (const server of [few.server, nest, fastify])
    if ((await server.answers(UPDATE, good, 200)) !== body)
      throw new Error(`${server.name} answers something else`);
  const etag = (await fetch(few.server.url + UPDATE, { headers: good })).headers.get('etag') ?? '';
  const filtered = `${CODES}?${filterOf(1, 100)}`;
  const tokens = async (signer: number): Promise<string[]> =>
    Promise.all(
      Array.from({ length: rounds * newTokens + newTokens }, () =>
        issuer.token({
          key: issuer.keys[signer],
          claims: { exp: Math.floor(Date.now() / 1000) + 7200 },
        }),
      ),
    );
  const fresh = { RS256: await tokens(0), ES256: await tokens(1) };
  const memory = { empty: empty.server.memory.now, large: large.server.memory.now };

  // Of their own: a server that answered other requests before is a little faster
  const filterServers = new Map([
    [100, filtering.server],
    [MIDDLE, middle.server],
    [many, large.server],
  ]);
  const lookup = (name: string, path: string, rest: Partial<Scenario> = {}): Scenario => ({
    name,
    server: few.server,
    path,
    headers: good,
    status: 200,
    ...rest,
  });
  const all: Scenario[] = [
    lookup('node:http, no credentials', '/', { server: floor, headers: {} }),
    lookup('ours: 200 order update', UPDATE),
    lookup('ours: 200 order capture', CAPTURE),
    lookup('ours: 200 communication codes (100)', CODES),
    lookup(NONE_AHEAD, UPDATE, { server: unmoved.server }),
    lookup(AHEAD, UPDATE, { server: ahead.server }),
    lookup('ours: 304', UPDATE, { headers: { ...good, 'if-none-match': etag }, status: 304 }),
    lookup('ours: HEAD', UPDATE, { method: 'HEAD' }),
    lookup('ours: 401 wrong key', UPDATE, {
      headers: { ...good, 'api-key': 'wrong' },
      status: 401,
    }),
    lookup('ours: 404', '/nothing', { status: 404 }),
    ...[...filterServers].flatMap(([count, server]) => {
      const paths = newFilters(count).map((filter) => `${CODES}?${filter}`);
      return [
        lookup(filterScenario(count), filtered, { server }),
        lookup(filterScenario(count, 'new'), filtered, { server, paths }),
      ];
    }),
    lookup(STEADY, filtered, { server: middle.server, perSecond: 2_000 }),
    lookup(WRITING, filtered, {
      server: middle.server,
      perSecond: 2_000,
      beside: () => changeEverySecond(elsewhere.url),
    }),
    lookup(RELOADING, filtered, {
      server: middle.server,
      perSecond: 2_000,
      beside: () => changeEverySecond(middle.url),
    }),
    lookup('ours: every token new, RS256', UPDATE, { tokens: fresh.RS256 }),
    lookup('ours: every token new, ES256', UPDATE, { tokens: fresh.ES256 }),
    lookup('plain Nest: 200 order update', UPDATE, { server: nest }),
    lookup('Fastify: 200 order update', UPDATE, { server: fastify }),
  ];
  const floors = [
    'node:http, no credentials',
    'ours: 200 order update',
    'ours: 304',
    'ours: 401 wrong key',
  ];
  for (const scenario of all.filter(({ name }) => floors.includes(name)))
    all.push({ ...scenario, name: `${scenario.name}${SLEEPS}`, sleeps: true });
  const wanted = new RegExp(only);
  const scenarios = all.filter(({ name, server }) => server === floor || wanted.test(name));
  const results = new Map<string, Measurement[]>(scenarios.map(({ name }) => [name, []]));
  let longestTurn = 0;
  for (let round = 0; round <= rounds; round++) {
    for (const scenario of scenarios) {
      await middle.server.longestTurn(); // begins anew with each reading
      const slice = scenario.tokens?.slice(round * newTokens, (round + 1) * newTokens);
      const measured = await measure(
        { ...scenario, ...(slice ? { tokens: slice } : {}) },
        scenario.perSecond === undefined ? seconds : LONGER * seconds,
        CONNECTIONS,
      );
      if (round === 0) continue; // warms up
      results.get(scenario.name)?.push(measured);
      if (scenario.name === RELOADING)
        longestTurn = Math.max(longestTurn, await middle.server.longestTurn());
    }
    process.stderr.write(round === 0 ? 'warmed up\n' : `round ${round} of ${rounds}\n`);
  }
  const momentTurn = only === '' ? await measureMoment(large.server, large.url) : NaN;
  const overload: OverloadMeasurement[] = [];
  for (const connections of only === '' ? [CONNECTIONS, 1_024] : [])
    overload.push(await measureOverload(few.server, UPDATE, good, connections, seconds));
  const [cpu] = cpus();
  const machine = `${cpu?.model}, ${cpus().length} cores, Node.js ${process.versions.node}, ${CONNECTIONS} connections, ${rounds} rounds of ${seconds} s`;
  const findings: Findings = {
    results,
    overload,
    longestTurn,
    momentTurn,
    many,
    bytesForCode: ((memory.large - memory.empty) * 1024 * 1024) / many,
    peaks: servers.map(({ name, memory: { peak } }) => [name, peak] as const),
    machine,
  };
  process.stdout.write(report(findings));
  if (json) saveRun(json, machine, ratiosOf(findings));
  if (against) process.stdout.write(compareWith(against, ratiosOf(findings)));
} finally {
  for (const server of servers) server.stop();
  await issuer.close();
  await postgres.remove();
}
process.exit(0);
