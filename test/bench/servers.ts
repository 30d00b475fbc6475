import { createServer } from 'node:http';
import { listen } from '../support/ports.js';
import { RunningService } from '../support/running-service.js';
import { World } from '../support/world.js';

/** The number of codes for which the service is designed. */
const CODE_COUNT = 20_000;
const CODES_OF_A_TYPE = 20;
const COMPILED_PEERS = '.data/long-runs/test/bench/peers'; // in outDir of test/tsconfig.long-runs.json

/** One build of the service, which runs three times with different settings. */
export interface Build {
  readonly name: string;
  readonly plain: RunningService;
  /** A service that answers 429 to each request after the first. */
  readonly limited: RunningService;
  /** A service that sends a span for each request to a collector. */
  readonly traced: RunningService;
}

/** All servers that are measured. They share one database, one issuer and one API key. */
export class Servers {
  readonly builds: Build[] = [];
  nodeHttp: RunningService;
  nestHello: RunningService;
  fastify: RunningService;
  private readonly started: RunningService[] = [];
  /** A collector that accepts spans and ignores them. */
  private readonly collector = createServer((request, response) => {
    request.resume().once('end', () => response.end());
  });
  private collectorUrl: string;

  constructor(readonly world: World) {}

  async start(): Promise<void> {
    const { database, issuer } = this.world;
    await insertCodes(this.world);
    this.collectorUrl = `http://127.0.0.1:${await listen(this.collector)}`;
    const environment = { DATABASE_URL: database.url, ...issuer.environment };
    this.nodeHttp = await this.startProgram(`${COMPILED_PEERS}/node-http.js`);
    this.nestHello = await this.startProgram(`${COMPILED_PEERS}/nest-hello.js`);
    this.fastify = await this.startProgram('test/bench/peers/fastify.mjs', environment);
  }

  /** @param folder a checkout with its dist/ and node_modules/ */
  async addBuild(name: string, folder: string): Promise<void> {
    this.builds.push({
      name,
      plain: await this.startService(folder, {}),
      limited: await this.startService(folder, { RATE_LIMIT_PER_MINUTE: '1' }),
      traced: await this.startService(folder, { OTEL_EXPORTER_OTLP_ENDPOINT: this.collectorUrl }),
    });
  }

  async stop(): Promise<void> {
    await Promise.all(this.started.map((server) => server.kill()));
    this.collector.close();
  }

  private async startService(folder: string, settings: Record<string, string>): Promise<RunningService> {
    const { database, issuer } = this.world;
    const DATABASE_URL = database.urlOf('order_lookup_service');
    const environment = { DATABASE_URL, ...issuer.environment, ...settings };
    const service = await this.startProgram(`${folder}/dist/main.js`, environment);
    await service.waitUntilReady();
    service.ignoreLog();
    return service;
  }

  private async startProgram(file: string, environment: Record<string, string> = {}): Promise<RunningService> {
    const server = await RunningService.start(environment, { file });
    this.started.push(server);
    return server;
  }
}

async function insertCodes({ database }: World): Promise<void> {
  await database.query('truncate communication_code');
  await database.query(
    `insert into communication_code (code_type, code, description)
     select 'TYPE-' || n / ${CODES_OF_A_TYPE}, 'CODE-' || n, rpad('Description of ' || n, 76, '.')
     from generate_series(0, ${CODE_COUNT - 1}) as n`,
  );
  await database.query('analyze communication_code');
}

/** Returns filters that find one record each. Before a filter comes again, its answer has left the cache. */
export function differentFilters(): string[] {
  const filters: string[] = [];
  for (let index = 0; index < CODE_COUNT; index++) {
    const type = Math.floor(index / CODES_OF_A_TYPE);
    filters.push(`?codeType=TYPE-${type}&code=CODE-${index}`, `?code=CODE-${index}`);
  }
  return filters;
}
