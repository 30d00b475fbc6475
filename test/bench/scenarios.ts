import { PATHS } from '../support/paths.js';
import { requestTo } from '../support/reader.js';
import type { RunningService } from '../support/running-service.js';
import { type Build, type Servers, differentFilters } from './servers.js';

export interface Scenario {
  readonly serverName: string;
  readonly server: RunningService;
  readonly name: string;
  readonly requests: readonly string[];
  readonly status: number;
  /** The CPU time that a request may take. 1 is the CPU time of a request to HELLO. */
  readonly aim?: number;
}

export const HELLO = 'Nest hello world';
const AIMS = { lookup: 1.1, filter: 1.1, unauthorized: 2.2 };
const { orderUpdate, communicationCodes } = PATHS;
const KNOWN_FILTER = `${communicationCodes}?codeType=TYPE-1&code=CODE-20`;

export async function scenariosOf(servers: Servers): Promise<Scenario[]> {
  const scenarios = [...peerScenarios(servers), ...fastifyScenarios(servers)];
  for (const build of servers.builds) scenarios.push(...(await buildScenarios(servers, build)));
  return scenarios;
}

function peerScenarios({ nodeHttp, nestHello }: Servers): Scenario[] {
  const same = { name: '200, no credentials', requests: [requestTo(orderUpdate, {})], status: 200 };
  return [
    { ...same, serverName: 'node:http', server: nodeHttp },
    { ...same, serverName: HELLO, server: nestHello },
  ];
}

function fastifyScenarios({ fastify: server, world: { headers } }: Servers): Scenario[] {
  const serverName = 'Fastify, pg, jose';
  const wrongKey = { ...headers, 'Api-Key': 'wrong' };
  const newFilters = differentFilters().map((filter) => communicationCodes + filter);
  return [
    { name: '200', serverName, server, requests: [requestTo(orderUpdate, headers)], status: 200 },
    {
      name: 'filter',
      serverName,
      server,
      requests: newFilters.map((path) => requestTo(path, headers)),
      status: 200,
    },
    { name: '401', serverName, server, requests: [requestTo(orderUpdate, wrongKey)], status: 401 },
    { name: '404', serverName, server, requests: [requestTo('/nothing', headers)], status: 404 },
  ];
}

async function buildScenarios({ world }: Servers, build: Build): Promise<Scenario[]> {
  const { name: serverName, plain: server, limited, traced } = build;
  const { headers } = world;
  const reply = await fetch(server.url + orderUpdate, { headers });
  const conditional = { ...headers, 'If-None-Match': reply.headers.get('etag') ?? '' };
  const wrongKey = { ...headers, 'Api-Key': 'wrong' };
  const lookup = requestTo(orderUpdate, headers);
  const newFilters = differentFilters().map((filter) => communicationCodes + filter);
  return [
    { name: '200', serverName, server, requests: [lookup], status: 200, aim: AIMS.lookup },
    { name: '200, traces on', serverName, server: traced, requests: [lookup], status: 200 },
    {
      name: '304',
      serverName,
      server,
      requests: [requestTo(orderUpdate, conditional)],
      status: 304,
      aim: AIMS.lookup,
    },
    {
      name: 'filter, known',
      serverName,
      server,
      requests: [requestTo(KNOWN_FILTER, headers)],
      status: 200,
      aim: AIMS.filter,
    },
    {
      name: 'filter, each new',
      serverName,
      server,
      requests: newFilters.map((path) => requestTo(path, headers)),
      status: 200,
    },
    {
      name: '401, wrong key',
      serverName,
      server,
      requests: [requestTo(orderUpdate, wrongKey)],
      status: 401,
      aim: AIMS.unauthorized,
    },
    { name: '404', serverName, server, requests: [requestTo('/nothing', headers)], status: 404 },
    {
      name: '405',
      serverName,
      server,
      requests: [requestTo(orderUpdate, { ...headers, 'Content-Length': '0' }, 'POST')],
      status: 405,
    },
    { name: '429', serverName, server: limited, requests: [lookup], status: 429 },
  ];
}
