import { Contract } from './contract.js';
import { type TestDatabase, createDatabase } from './database.js';
import { Issuer } from './issuer.js';
import { type IssuedKey, issueKey } from './keys.js';
import { startMigratedPostgres } from './migrated-postgres.js';
import type { PostgresServer } from './postgres-server.js';
import { RunningService } from './service.js';
import type { Credentials } from './traffic.js';

export const SAMPLES = `insert into communication_code (code_type, code, description) values
  ('SAMPLE-STATUS', 'S1', 'Sample: order received'), ('SAMPLE-STATUS', 'S2', 'Sample: "on the way" – größer'),
  ('SAMPLE-USAGE', 'S1', 'Sample: same code, other type'), ('SAMPLE-USAGE', 'a\\b"c', 'Sample: special characters'), ('SAMPLE-usage', 'é𝄞', 'Sample: beyond ASCII')`;
const TOKEN_SECONDS = 8 * 3600;

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** A database, an issuer, a key and ready replicas: all that a test of the running program needs. */
export class World {
  readonly replicas: RunningService[] = [];
  private readonly others: RunningService[] = [];
  private held: Contract | undefined;

  private constructor(
    readonly database: TestDatabase,
    readonly issuer: Issuer,
    readonly key: IssuedKey,
    readonly token: string,
    private readonly environment: Record<string, string>,
    private readonly server: PostgresServer | undefined,
  ) {}

  /** One replica, on the PostgreSQL of all test files. */
  static async create(
    environment: Record<string, string> = {},
    prepare?: (database: TestDatabase) => Promise<unknown>,
  ): Promise<World> {
    const world = await World.prepare(environment, prepare);
    world.replicas.push(await world.replica());
    world.held = await Contract.of(world.service.url + (environment['BASE_PATH'] ?? ''));
    return world;
  }

  /** So many replicas, on a PostgreSQL of their own that can be stopped. */
  static async apart(count: number): Promise<World> {
    const world = await World.prepare({}, undefined, await startMigratedPostgres());
    for (let at = 0; at < count; at++) world.replicas.push(await world.replica());
    return world;
  }

  private static async prepare(
    environment: Record<string, string>,
    prepare?: (database: TestDatabase) => Promise<unknown>,
    server?: PostgresServer,
  ): Promise<World> {
    const [database, issuer] = await Promise.all([
      createDatabase(server ? { server: server.url } : {}),
      Issuer.start(),
    ]);
    const key = await issueKey(database);
    await database.query(SAMPLES);
    await prepare?.(database);
    const now = Math.floor(Date.now() / 1000);
    // Long enough for long runs, and for replicas whose clocks are minutes apart
    const token = await issuer.token({ claims: { iat: now - 600, exp: now + TOKEN_SECONDS } });
    return new World(database, issuer, key, token, environment, server);
  }

  /** One more replica, which listens and need not be ready. It is not in the list. */
  async start(environment: Record<string, string> = {}): Promise<RunningService> {
    const service = await RunningService.start({
      DATABASE_URL: this.database.urlOf('order_lookup_service'),
      ...this.issuer.environment,
      ...this.environment,
      ...environment,
    });
    this.others.push(service);
    return service;
  }

  /** The same, ready. */
  async replica(environment: Record<string, string> = {}): Promise<RunningService> {
    const service = await this.start(environment);
    await service.ready();
    return service;
  }

  get service(): RunningService {
    return this.replicas[0] as RunningService;
  }

  get postgres(): PostgresServer {
    return this.server as PostgresServer;
  }

  get contract(): Contract {
    return this.held as Contract;
  }

  get credentials(): Credentials {
    return { key: this.key.key, token: this.token };
  }

  /** The headers of a caller, as they are valid. */
  get headers(): Record<string, string> {
    return { 'Api-Key': this.key.key, Authorization: `Bearer ${this.token}` };
  }

  /** A request with valid credentials; a header of undefined is left out. Its reply has to be what the service's own OpenAPI document says. */
  async get(
    path: string,
    {
      headers = {},
      method = 'GET',
      body,
      service = this.service,
    }: {
      headers?: Record<string, string | undefined>;
      method?: string;
      body?: string;
      service?: RunningService;
    } = {},
  ): Promise<Reply> {
    const sent = Object.entries({ ...this.headers, ...headers }).filter(
      (entry): entry is [string, string] => entry[1] !== undefined,
    );
    const response = await fetch(service.url + path, {
      method,
      headers: sent,
      ...(body === undefined ? {} : { body }),
    });
    const { status, headers: received } = response;
    const reply = { status, headers: received, text: await response.text() };
    this.held?.check(method, path, reply);
    return reply;
  }

  async close(): Promise<void> {
    await Promise.all([...this.replicas, ...this.others].map((replica) => replica.kill()));
    await this.issuer.close();
    if (!this.server) return this.database.drop();
    await this.database.close();
    await this.server.remove();
  }
}
