import type { DataSourceOptions } from 'typeorm';
import type { DatabaseAddress } from '../configuration/database-url.js';
import { ApiKey } from './entities/api-key.entity.js';
import { AreaProperty } from './entities/area-property.entity.js';
import { CodeListValue } from './entities/code-list-value.entity.js';
import { CommunicationCode } from './entities/communication-code.entity.js';
import { CONNECT_TIMEOUT_MS, QUERY_TIMEOUT_MS, Session } from './session.js';

/** Three sessions: one follows the keys, one follows the codes, and one notes the use of keys. So none of them waits for another. */
export const poolOptions = (
  address: DatabaseAddress,
): DataSourceOptions & { manualInitialization: true } => ({
  type: 'postgres',
  entities: [CodeListValue, AreaProperty, CommunicationCode, ApiKey],
  synchronize: false,
  migrationsRun: false,
  logging: false,
  manualInitialization: true, // the first reading connects, so that the service can start without the database
  poolSize: 3,
  connectTimeoutMS: CONNECT_TIMEOUT_MS,
  poolErrorHandler: () => undefined, // an idle session ended: the pool makes a new one, and who follows logs that the database is away
  extra: {
    Client: Session,
    address,
    query_timeout: QUERY_TIMEOUT_MS,
    idleTimeoutMillis: 30_000,
  },
});
