import { Contract } from './contract.js';
import { type TestDatabase, createDatabase } from './database.js';
import { Issuer } from './issuer.js';
import { type IssuedKey, issueKey } from './keys.js';
import { startMigratedPostgres } from './migrated-postgres.js';
import type { PostgresServer } from './postgres-server.js';
import { type Reply, replyOf } from './raw.js';
import { RunningService } from './service.js';
import type { Credentials } from './traffic.js';

export const SAMPLES = `insert into communication_code (code_type, code, description) values
  ('SAMPLE-STATUS', 'S1', 'Sample: order received'), ('SAMPLE-STATUS', 'S2', 'Sample: "on the way" – größer'),
  ('SAMPLE-USAGE', 'S1', 'Sample: same code, other type'), ('SAMPLE-USAGE', 'a\\b"c', 'Sample: special characters'), ('SAMPLE-usage', 'é𝄞', 'Sample: beyond ASCII')`;

/** A database, an issuer, a key and ready replicas: all that a test of the running program needs. */
export class World {
  readonly replicas: RunningService[] = [];
  private readonly others: RunningService[] = [];
  database: TestDatabase;
  issuer: Issuer;
  key: IssuedKey;
  token: string;
  /** Of a world on the PostgreSQL of all test files. */
  contract: Contract;
  /** Of a world apart. */
  postgres: PostgresServer;

  /** @param apart how many replicas on a PostgreSQL of their own that can be stopped; otherwise one, on that of all test files */
  constructor(
    private readonly environment: Record<string, string> = {},
    private readonly prepare?: (database: TestDatabase) => Promise<unknown>,
    private readonly apart?: number,
  ) {}

  static create(environment: Record<string, string> = {}): Promise<World> {
    return new World(environment).open();
  }

  static apart(count: number): Promise<World> {
    return new World({}, undefined, count).open();
  }

  async open(): Promise<this> {
    const { apart, environment } = this;
    if (apart !== undefined) this.postgres = await startMigratedPostgres();
    [this.database, this.issuer] = await Promise.all([
      createDatabase({ server: this.postgres?.url }),
      Issuer.start(),
    ]);
    this.key = await issueKey(this.database);
    await this.database.query(SAMPLES);
    await this.prepare?.(this.database);
    const now = Math.floor(Date.now() / 1000);
    // Long enough for long runs, and for replicas whose clocks are minutes apart
    const claims = { iat: now - 600, exp: now + 8 * 3600 };
    this.token = await this.issuer.token({ claims });
    const replicas = Array.from({ length: apart ?? 1 }, () => this.replica());
    this.replicas.push(...(await Promise.all(replicas)));
    if (apart === undefined)
      this.contract = await Contract.of(this.service.url + (environment['BASE_PATH'] ?? ''));
    return this;
  }

  /** One more replica, which listens and need not be ready. It is not in the list. */
  async start(
    environment: Record<string, string> = {},
    options?: { descriptors: number },
  ): Promise<RunningService> {
    const DATABASE_URL = this.database.urlOf('order_lookup_service');
    const all = { DATABASE_URL, ...this.issuer.environment, ...this.environment, ...environment };
    const service = await RunningService.start(all, options);
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
      service = this.service,
    }: {
      headers?: Record<string, string | undefined>;
      method?: string;
      service?: RunningService;
    } = {},
  ): Promise<Reply> {
    const sent = Object.entries({ ...this.headers, ...headers }).filter(
      (entry): entry is [string, string] => entry[1] !== undefined,
    );
    const reply = await replyOf(await fetch(service.url + path, { method, headers: sent }));
    this.contract?.check(method, path, reply);
    return reply;
  }

  /** Also of a world that could not be opened wholly. */
  async close(): Promise<void> {
    await Promise.all([...this.replicas, ...this.others].map((replica) => replica.kill()));
    await this.issuer?.close();
    await (this.postgres ? this.database?.close() : this.database?.drop());
    await this.postgres?.remove();
  }
}
