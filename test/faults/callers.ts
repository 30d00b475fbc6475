import { setTimeout as pause } from 'node:timers/promises';
import { generate } from '../bench/generate.js';
import { PATHS } from '../support/paths.js';
import { readResidentMebibytes } from '../support/process-figures.js';
import { requestTo } from '../support/reader.js';
import type { RunningService } from '../support/running-service.js';
import { StalledClients } from '../support/stalled-clients.js';
import type { World } from '../support/world.js';

const CONNECTIONS = 100;
/**
 * The connections that one step opens. After each step, requests with other filters follow. If large answers were in a
 * bounded cache, these requests would push them out, and each would be made again.
 */
const CONNECTIONS_OF_A_STEP = 10;
const CODES = 20_000;
const { communicationCodes } = PATHS;

interface Attack {
  readonly name: string;
  readonly query: string;
  /** The requests that each connection sends at the same time. */
  readonly requests: number;
  readonly isReading: boolean;
}

const ATTACKS: readonly Attack[] = [
  { name: 'the whole list, unread', query: '', requests: 32, isReading: false },
  { name: 'one type with all codes, unread', query: '?codeType=BIG', requests: 32, isReading: false },
  { name: 'one type with all codes, read', query: '?codeType=BIG', requests: 3, isReading: true },
];

/**
 * Reports the memory of a replica while many connections with a valid key ask for the largest answers.
 * @param others the number of requests after each step, each with another filter
 * @param only the text that a name must contain: other attacks are not tried
 */
export async function callers(world: World, others = 2_000, only = ''): Promise<string> {
  await world.database.query(
    `insert into communication_code (code_type, code, description)
     select 'BIG', 'CODE-' || n, rpad('Description of ' || n, 1016, '.') from generate_series(1, ${CODES}) as n`,
  );
  const lines: string[] = [];
  for (const attack of ATTACKS.filter(({ name }) => name.includes(only))) {
    const service = await world.startReadyReplica({ NODE_OPTIONS: '--max-semi-space-size=8' }); // as in the image
    lines.push(`${attack.name}: ${await runAttack(attack, { world, service, others })}`);
    console.error(lines.at(-1)); // printed now, so that an interrupted run shows it, too
    await service.kill();
  }
  return lines.join('\n');
}

interface Surroundings {
  readonly world: World;
  readonly service: RunningService;
  readonly others: number;
}

async function runAttack(attack: Attack, { world, service, others }: Surroundings): Promise<string> {
  const { pid, url } = service;
  const port = Number(new URL(url).port);
  const bytes = requestTo(communicationCodes + attack.query, world.headers).repeat(attack.requests);
  const clients = new StalledClients();
  const before = readResidentMebibytes(pid);
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, readResidentMebibytes(pid));
  }, 20);
  for (let opened = 0; opened < CONNECTIONS; opened += CONNECTIONS_OF_A_STEP) {
    const sockets = await clients.open({ count: CONNECTIONS_OF_A_STEP, port, bytes });
    if (attack.isReading) for (const socket of sockets) socket.resume();
    const requests = Array.from({ length: others }, (_, index) => {
      return requestTo(`${communicationCodes}?code=${opened}-${index}`, world.headers);
    });
    await generate({ port, connections: 8, requests, end: { kind: 'all sent' } });
  }
  await pause(2_000);
  clearInterval(timer);
  clients.close();
  return `${Math.round(before)} MiB before, at most ${Math.round(most)}`;
}
