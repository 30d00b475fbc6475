// `npm run bench [-- --quick] [--only PATTERN]`: the service beside node:http, each in a process of its own. Short rounds, and node:http anew
// before each measurement: the speed of a shared machine swings. Median (smallest to largest of the rounds), also in RESULTS.md beside this file.
import { parseArgs } from 'node:util';
import { peakMebibytes } from '../support/linux-process.js';
import { PATHS } from '../support/paths.js';
import { RunningService } from '../support/service.js';
import { World } from '../support/world.js';
import { type Scenario, measure } from './load.js';
import { type Compared, report } from './report.js';
import { saveResult } from './results.js';

const { quick, only } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, only: { type: 'string', default: '' } },
}).values;
const [rounds, seconds, newTokens] = quick ? [3, 0.8, 1_000] : [7, 2, 4_000];
const [FEW, MANY] = [100, 100_000];
const CONNECTIONS = 32;
const PER_SECOND = 2_000;
const { orderUpdate: UPDATE, communicationCodes: CODES } = PATHS;
const BASE = 'node:http, no credentials';

const PEER = { file: '.data/long-runs/test/bench/peers/node-http.js' };
const floor = await RunningService.start({}, PEER);
const worlds: World[] = [];
const ours = async (count: number): Promise<World> => {
  const world = await World.apart(0);
  worlds.push(world);
  await world.database.query(
    `truncate communication_code;
     insert into communication_code (code_type, code, description)
     select 'TYPE-' || n % ${Math.max(1, count / 10)}, 'CODE-' || n, rpad('A communication code of the benchmark, number ' || n, 76, '.') from generate_series(1, ${count}) as n`,
  );
  world.replicas.push(await world.replica());
  world.service.ignoreLog();
  return world;
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
  const reply = await few.get(UPDATE);
  const known = { ...few.headers, 'If-None-Match': reply.headers.get('etag') ?? '' };
  const exp = Math.floor(Date.now() / 1000) + 7_200;
  const tokens = (signer: number): Promise<string[]> =>
    Promise.all(
      Array.from({ length: (rounds + 1) * newTokens }, () =>
        few.issuer.token({ key: few.issuer.keys[signer], claims: { exp } }),
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
  const of = ({ service: server, headers }: World) => ({ server, headers });
  const scenario = (name: string, path: string, rest: Partial<Scenario> = {}): Scenario => ({
    ...{ name, path, status: 200 },
    ...of(few),
    ...rest,
  });
  const one = `${CODES}?codeType=TYPE-1&code=CODE-1`;
  const [other, large] = [of(filtered), of(many)];
  const base = scenario(BASE, '/', { server: floor, headers: {} });
  const scenarios = [
    base,
    scenario('200 order update', UPDATE),
    scenario('200 communication codes (100)', CODES),
    scenario('304', UPDATE, { headers: known, status: 304 }),
    scenario('401 wrong key', UPDATE, {
      headers: { ...few.headers, 'Api-Key': 'wrong' },
      status: 401,
    }),
    scenario('404', '/nothing', { status: 404 }),
    scenario(`the same filter, ${FEW} codes`, one, other),
    scenario(`the same filter, ${MANY} codes`, one, large),
    scenario(`every filter new, ${FEW} codes`, one, { ...other, paths: newFilters(FEW) }),
    scenario(`every filter new, ${MANY} codes`, one, { ...large, paths: newFilters(MANY) }),
    scenario(`${PER_SECOND} a second, ${MANY} codes`, one, { ...large, perSecond: PER_SECOND }),
    scenario(`${PER_SECOND} a second, ${MANY} codes, one changes each second`, one, {
      ...large,
      perSecond: PER_SECOND,
      beside: changeEverySecond,
    }),
    scenario('every token new, RS256', UPDATE, { tokens: await tokens(0) }),
    scenario('every token new, ES256', UPDATE, { tokens: await tokens(1) }),
  ].filter(({ name }) => name === BASE || new RegExp(only).test(name));
  const results = new Map<string, Compared[]>(scenarios.map(({ name }) => [name, []]));
  for (let round = 0; round <= rounds; round++) {
    for (const each of scenarios) {
      const before = await measure(base, seconds, CONNECTIONS);
      const slice = each.tokens?.slice(round * newTokens, (round + 1) * newTokens);
      // What happens each second has to happen a few times in a round
      const length = each.perSecond === undefined ? seconds : 2 * seconds;
      const measured = await measure(
        slice ? { ...each, tokens: slice } : each,
        length,
        CONNECTIONS,
      );
      const ratio = measured.cpu / before.cpu;
      if (round > 0) results.get(each.name)?.push({ ...measured, ratio }); // the first round warms up
    }
    process.stderr.write(round === 0 ? 'warmed up\n' : `round ${round} of ${rounds}\n`);
  }
  const found = `${report(results, BASE)}

${CONNECTIONS} connections, ${rounds} rounds of ${seconds} s. Peak memory: ${worlds.map(({ service }) => Math.round(peakMebibytes(service.pid))).join(', ')} MiB with ${FEW}, ${FEW} and ${MANY} codes.`;
  console.log(found);
  if (only === '')
    saveResult('test/bench/RESULTS.md', `npm run bench${quick ? ' -- --quick' : ''}`, found);
} finally {
  await Promise.all([floor.kill(), ...worlds.map((world) => world.close())]);
}
process.exit(0);
