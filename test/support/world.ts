import { Contract } from './contract.js';
import { type TestDatabase, createDatabase } from './database.js';
import { Issuer } from './issuer.js';
import { type IssuedKey, issueKey } from './api-keys.js';
import { startMigratedPostgres } from './migrated-postgres.js';
import type { PostgresServer } from './postgres-server.js';
import { type Reply, fetchReply } from './exchange.js';
import type { ReachableService } from './reachable-service.js';
import { type ProcessOptions, RunningService } from './running-service.js';
import type { Credentials } from './traffic.js';

/** SQL that inserts the codes of every world. */
export const INSERT_SAMPLES = `insert into communication_code (code_type, code, description) values
  ('SAMPLE-STATUS', 'S1', 'Sample: order received'),
  ('SAMPLE-STATUS', 'S2', 'Sample: "on the way" – größer'),
  ('SAMPLE-USAGE', 'S1', 'Sample: same code, other type'),
  ('SAMPLE-USAGE', 'a\\b"c', 'Sample: special characters'),
  ('SAMPLE-usage', 'é𝄞', 'Sample: beyond ASCII')`;
/** The number of codes in INSERT_SAMPLES. */
export const SAMPLE_COUNT = 5;

export interface WorldOptions<Service extends ReachableService> {
  /** Starts a replica with these variables: in the process of the test, or in a process of its own. */
  readonly launch: (environment: Record<string, string>) => Promise<Service>;
  /** The variables of every replica. */
  readonly environment?: Record<string, string>;
  /** Fills the database before the first replica starts. */
  readonly prepare?: ((database: TestDatabase) => Promise<unknown>) | undefined;
  readonly replicas?: number;
  /** True if the world has a PostgreSQL of its own, which a test can stop. Otherwise all test files share one. */
  readonly hasOwnPostgres?: boolean;
}

interface RequestOptions<Service extends ReachableService> {
  /** Headers in addition to the valid credentials. A header whose value is undefined is left out. */
  readonly headers?: Record<string, string | undefined>;
  readonly method?: string;
  readonly service?: Service;
}

/** A database, an issuer, an API key, a token and ready replicas: all that a test of the service needs. */
export class World<Service extends ReachableService = RunningService> {
  readonly replicas: Service[] = [];
  /** All replicas that `close` has to end: those of `replicas`, and those that a test has started. */
  private readonly startedReplicas: ReachableService[] = [];
  database: TestDatabase;
  issuer: Issuer;
  key: IssuedKey;
  token: string;
  /** The contract of the first replica. Undefined if the world opens without a replica or has its own PostgreSQL. */
  contract: Contract | undefined;
  /** The PostgreSQL of this world, if it has one of its own. */
  postgres: PostgresServer;

  constructor(private readonly options: WorldOptions<Service>) {}

  /** Makes a world with one replica in a process of its own. The caller has to close the world. */
  static create(environment: Record<string, string> = {}): Promise<World> {
    return new World({ launch: startProcess, environment }).open();
  }

  /** Makes a world for the long runs, which Jest does not run. It has its own PostgreSQL, and replica processes. */
  static withoutJest(replicas: number): Promise<World> {
    return new World({ launch: startProcess, replicas, hasOwnPostgres: true }).open();
  }

  async open(): Promise<this> {
    const { environment = {}, hasOwnPostgres = false, replicas = 1 } = this.options;
    if (hasOwnPostgres) this.postgres = await startMigratedPostgres();
    const [database, issuer] = await Promise.all([createDatabase({ server: this.postgres?.url }), Issuer.start()]);
    this.database = database;
    this.issuer = issuer;
    this.key = await issueKey(this.database); // before `prepare`, which may use the key
    await this.database.query(INSERT_SAMPLES);
    await this.options.prepare?.(this.database);
    this.token = await this.createLongToken();
    const started = Array.from({ length: replicas }, () => this.startReadyReplica());
    this.replicas.push(...(await Promise.all(started)));
    if (!hasOwnPostgres && replicas > 0)
      this.contract = await this.fetchContract(this.service.url + (environment['BASE_PATH'] ?? ''));
    return this;
  }

  /** Fetches the OpenAPI document. If the fetch fails, the error message quotes the errors in the service's log. */
  private async fetchContract(address: string): Promise<Contract> {
    try {
      return await Contract.fetch(address);
    } catch (cause) {
      const logged = this.service.lines.filter(({ level }) => level === 'error').map(({ err }) => String(err));
      throw new Error(`The OpenAPI document cannot be fetched. ${logged.join('\n')}`, { cause });
    }
  }

  /** Returns a token that is valid for long runs, and for replicas whose clocks are minutes apart. */
  private createLongToken(): Promise<string> {
    const nowSeconds = Math.floor(Date.now() / 1000);
    return this.issuer.createToken({ claims: { iat: nowSeconds - 600, exp: nowSeconds + 8 * 3600 } });
  }

  /** Starts one more replica, which listens, but may not be ready yet. It is not added to `replicas`. */
  async startReplica(environment: Record<string, string> = {}): Promise<Service> {
    const service = await this.options.launch(this.environmentWith(environment));
    this.startedReplicas.push(service);
    return service;
  }

  /** Starts one more replica, and waits until it is ready. */
  async startReadyReplica(environment: Record<string, string> = {}): Promise<Service> {
    const service = await this.startReplica(environment);
    await service.waitUntilReady();
    return service;
  }

  /** Starts one more replica in a process of its own, which listens, but may not be ready yet. */
  async startReplicaProcess(
    environment: Record<string, string> = {},
    options?: ProcessOptions,
  ): Promise<RunningService> {
    const service = await RunningService.start(this.environmentWith(environment), options);
    this.startedReplicas.push(service);
    return service;
  }

  /** Returns the variables of a replica, with these in addition. */
  environmentWith(more: Record<string, string>): Record<string, string> {
    const DATABASE_URL = this.database.urlOf('order_lookup_service');
    return { DATABASE_URL, ...this.issuer.environment, ...this.options.environment, ...more };
  }

  get service(): Service {
    const [first] = this.replicas;
    if (!first) throw new Error('`replicas` of this world is empty');
    return first;
  }

  get credentials(): Credentials {
    return { key: this.key.key, token: this.token };
  }

  /** The headers of a caller with valid credentials. */
  get headers(): Record<string, string> {
    return { 'Api-Key': this.key.key, Authorization: `Bearer ${this.token}` };
  }

  /**
   * Sends a request with valid credentials.
   * @throws Error if the world has a contract, and the contract does not describe the reply
   */
  async get(path: string, options: RequestOptions<Service> = {}): Promise<Reply> {
    const { headers, method = 'GET', service = this.service } = options;
    const all = { ...this.headers, ...headers };
    const sent = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
    const reply = await fetchReply(service.url + path, { method, headers: sent });
    this.contract?.check(method, path, reply);
    return reply;
  }

  /** Closes the world, also if `open` failed. The replicas end first, because they use the issuer and the database. */
  async close(): Promise<void> {
    await Promise.all(this.startedReplicas.map((replica) => replica.kill()));
    await this.issuer?.close();
    if (this.postgres) await this.database?.close();
    else await this.database?.drop();
    await this.postgres?.remove();
  }
}

export function startProcess(environment: Record<string, string>): Promise<RunningService> {
  return RunningService.start(environment);
}
