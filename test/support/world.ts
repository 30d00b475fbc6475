import { Contract } from './contract.js';
import { type TestDatabase, createDatabase } from './database.js';
import { Issuer } from './issuer.js';
import { type IssuedKey, issueKey } from './api-keys.js';
import { startMigratedPostgres } from './migrated-postgres.js';
import type { PostgresServer } from './postgres-server.js';
import { type Reply, readReply } from './exchange.js';
import type { ReachableService } from './reachable-service.js';
import { type ProcessOptions, RunningService } from './running-service.js';
import type { Credentials } from './traffic.js';

export const SAMPLES = `insert into communication_code (code_type, code, description) values
  ('SAMPLE-STATUS', 'S1', 'Sample: order received'),
  ('SAMPLE-STATUS', 'S2', 'Sample: "on the way" – größer'),
  ('SAMPLE-USAGE', 'S1', 'Sample: same code, other type'),
  ('SAMPLE-USAGE', 'a\\b"c', 'Sample: special characters'),
  ('SAMPLE-usage', 'é𝄞', 'Sample: beyond ASCII')`;
/** Of these codes. */
export const SAMPLE_COUNT = 5;

export interface WorldOptions<Service extends ReachableService> {
  /** How a replica is started with these variables: in the process of the test, or in one of its own. */
  readonly launch: (environment: Record<string, string>) => Promise<Service>;
  /** Variables of every replica. */
  readonly environment?: Record<string, string>;
  /** What the database holds before the first replica starts. */
  readonly prepare?: ((database: TestDatabase) => Promise<unknown>) | undefined;
  /** How many replicas are started. */
  readonly replicas?: number;
  /** A PostgreSQL of its own, that can be stopped; otherwise the one of all test files. */
  readonly hasOwnPostgres?: boolean;
}

interface RequestOptions<Service extends ReachableService> {
  /** Beside the valid credentials; a header of undefined is left out. */
  readonly headers?: Record<string, string | undefined>;
  readonly method?: string;
  readonly service?: Service;
}

/** A database, an issuer, a key and ready replicas: all that a test of the service needs. */
export class World<Service extends ReachableService = RunningService> {
  readonly replicas: Service[] = [];
  private readonly others: ReachableService[] = [];
  database: TestDatabase;
  issuer: Issuer;
  key: IssuedKey;
  token: string;
  /** Of a world that has a replica on the PostgreSQL of all test files. Other worlds measure, or break PostgreSQL. */
  contract: Contract | undefined;
  /** Where it has one of its own. */
  postgres: PostgresServer;

  constructor(private readonly options: WorldOptions<Service>) {}

  /** One replica in a process of its own, which the caller closes: its environment is known late, or may be none. */
  static create(environment: Record<string, string> = {}): Promise<World> {
    return new World({ launch: startProcess, environment }).open();
  }

  /** Processes on a PostgreSQL of their own, for the long runs, which have no Jest. */
  static apart(replicas: number): Promise<World> {
    return new World({ launch: startProcess, replicas, hasOwnPostgres: true }).open();
  }

  async open(): Promise<this> {
    const { environment = {}, hasOwnPostgres = false, replicas = 1 } = this.options;
    if (hasOwnPostgres) this.postgres = await startMigratedPostgres();
    const [database, issuer] = await Promise.all([createDatabase({ server: this.postgres?.url }), Issuer.start()]);
    this.database = database;
    this.issuer = issuer;
    this.key = await issueKey(this.database); // which `prepare` may use
    await this.database.query(SAMPLES);
    await this.options.prepare?.(this.database);
    this.token = await this.longToken();
    const started = Array.from({ length: replicas }, () => this.replica());
    this.replicas.push(...(await Promise.all(started)));
    if (!hasOwnPostgres && replicas > 0)
      this.contract = await Contract.fetch(this.service.url + (environment['BASE_PATH'] ?? ''));
    return this;
  }

  /** Long enough for long runs, and for replicas whose clocks are minutes apart. */
  private longToken(): Promise<string> {
    const nowSeconds = Math.floor(Date.now() / 1000);
    return this.issuer.token({ claims: { iat: nowSeconds - 600, exp: nowSeconds + 8 * 3600 } });
  }

  /** One more replica, which listens and need not be ready. It is not in the list. */
  async start(environment: Record<string, string> = {}): Promise<Service> {
    const service = await this.options.launch(this.environmentWith(environment));
    this.others.push(service);
    return service;
  }

  /** The same, ready. */
  async replica(environment: Record<string, string> = {}): Promise<Service> {
    const service = await this.start(environment);
    await service.ready();
    return service;
  }

  /** One more that listens, in a process of its own. */
  async process(environment: Record<string, string> = {}, options?: ProcessOptions): Promise<RunningService> {
    const service = await RunningService.start(this.environmentWith(environment), options);
    this.others.push(service);
    return service;
  }

  /** The variables of a replica, and these. */
  environmentWith(more: Record<string, string>): Record<string, string> {
    const DATABASE_URL = this.database.urlOf('order_lookup_service');
    return { DATABASE_URL, ...this.issuer.environment, ...this.options.environment, ...more };
  }

  get service(): Service {
    const [first] = this.replicas;
    if (!first) throw new Error('this world has no replica of its own');
    return first;
  }

  get credentials(): Credentials {
    return { key: this.key.key, token: this.token };
  }

  /** The headers of a caller, as they are valid. */
  get headers(): Record<string, string> {
    return { 'Api-Key': this.key.key, Authorization: `Bearer ${this.token}` };
  }

  /** A request with valid credentials. Its reply has to be what the service's own OpenAPI document says. */
  async get(path: string, options: RequestOptions<Service> = {}): Promise<Reply> {
    const { headers, method = 'GET', service = this.service } = options;
    const all = { ...this.headers, ...headers };
    const sent = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
    const reply = await readReply(await fetch(service.url + path, { method, headers: sent }));
    this.contract?.check(method, path, reply);
    return reply;
  }

  /** Also of a world that could not be opened wholly. The replicas first: they would go on asking for what is gone. */
  async close(): Promise<void> {
    await Promise.all([...this.replicas, ...this.others].map((replica) => replica.kill()));
    await this.issuer?.close();
    if (this.postgres) await this.database?.close();
    else await this.database?.drop();
    await this.postgres?.remove();
  }
}

export function startProcess(environment: Record<string, string>): Promise<RunningService> {
  return RunningService.start(environment);
}
