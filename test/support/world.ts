import { Contract } from './contract.js';
import { type TestDatabase, createDatabase } from './database.js';
import { Issuer } from './issuer.js';
import { type IssuedKey, issueKey } from './keys.js';
import { RunningService } from './service.js';

export const SAMPLES = `insert into communication_code (code_type, code, description) values
  ('SAMPLE-STATUS', 'S1', 'Sample: order received'), ('SAMPLE-STATUS', 'S2', 'Sample: "on the way" – größer'),
  ('SAMPLE-USAGE', 'S1', 'Sample: same code, other type'), ('SAMPLE-USAGE', 'a\\b"c', 'Sample: special characters'), ('SAMPLE-usage', 'é𝄞', 'Sample: beyond ASCII')`;

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** A database, an issuer, a key and a ready service: all that a test of the running program needs. */
export class World {
  private constructor(
    readonly database: TestDatabase,
    readonly issuer: Issuer,
    readonly key: IssuedKey,
    readonly service: RunningService,
    readonly token: string,
    readonly contract: Contract,
  ) {}

  static async create(
    environment: Record<string, string> = {},
    prepare?: (database: TestDatabase) => Promise<unknown>,
  ): Promise<World> {
    const [database, issuer] = await Promise.all([createDatabase(), Issuer.start()]);
    const key = await issueKey(database);
    await database.query(SAMPLES);
    await prepare?.(database);
    const service = await RunningService.start({
      DATABASE_URL: database.urlOf('order_lookup_service'),
      ...issuer.environment,
      ...environment,
    });
    await service.ready();
    const contract = await Contract.of(service.url + (environment['BASE_PATH'] ?? ''));
    return new World(database, issuer, key, service, await issuer.token(), contract);
  }

  /** A request with valid credentials; a header of undefined is left out. Its reply has to be what the service's own OpenAPI document says. */
  async get(
    path: string,
    {
      headers = {},
      method = 'GET',
      body,
    }: { headers?: Record<string, string | undefined>; method?: string; body?: string } = {},
  ): Promise<Reply> {
    const all = { 'Api-Key': this.key.key, Authorization: `Bearer ${this.token}`, ...headers };
    const sent = Object.entries(all).filter(
      (entry): entry is [string, string] => entry[1] !== undefined,
    );
    const response = await fetch(this.service.url + path, {
      method,
      headers: sent,
      ...(body === undefined ? {} : { body }),
    });
    const reply = {
      status: response.status,
      headers: response.headers,
      text: await response.text(),
    };
    this.contract.check(method, path, reply);
    return reply;
  }

  async close(): Promise<void> {
    this.contract.save();
    await this.service.kill();
    await Promise.all([this.issuer.close(), this.database.drop()]);
  }
}
