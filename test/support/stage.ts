import { createDatabase, type TestDatabase } from './database.js';
import { Issuer } from './issuer.js';
import { issueKey } from './keys.js';
import { startMigratedPostgres } from './migrated-postgres.js';
import type { PostgresServer } from './postgres-server.js';
import { RunningService } from './service.js';
import type { Credentials } from './traffic.js';
import { SAMPLES } from './world.js';

/** A PostgreSQL server, an issuer and replicas of the service, all in processes of their own or in this one. */
export class Stage {
  readonly replicas: RunningService[] = [];

  private constructor(
    readonly postgres: PostgresServer,
    readonly database: TestDatabase,
    readonly issuer: Issuer,
    readonly credentials: Credentials,
  ) {}

  static async set(count: number): Promise<Stage> {
    const postgres = await startMigratedPostgres();
    const [database, issuer] = await Promise.all([
      createDatabase({ server: postgres.url }),
      Issuer.start(),
    ]);
    await database.query(SAMPLES);
    const { key } = await issueKey(database);
    const token = await issuer.token({
      claims: {
        iat: Math.floor(Date.now() / 1000) - 600,
        exp: Math.floor(Date.now() / 1000) + 8 * 3600,
      },
    });
    const stage = new Stage(postgres, database, issuer, { key, token });
    for (let replica = 0; replica < count; replica++) stage.replicas.push(await stage.replica());
    return stage;
  }

  /** One more replica, ready. It is not in the list. */
  async replica(environment: Record<string, string> = {}): Promise<RunningService> {
    const service = await RunningService.start({
      DATABASE_URL: this.database.urlOf('order_lookup_service'),
      ...this.issuer.environment,
      ...environment,
    });
    await service.ready();
    return service;
  }

  async strike(): Promise<void> {
    await Promise.all(this.replicas.map((replica) => replica.kill()));
    await this.issuer.close();
    await this.database.close();
    await this.postgres.remove();
  }
}
