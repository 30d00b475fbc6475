import type { DataSourceOptions } from 'typeorm';
import type { DatabaseAddress } from '../configuration/database-url.js';
import { ApiKey } from './entities/api-key.entity.js';
import { AreaProperty } from './entities/area-property.entity.js';
import { CodeListValue } from './entities/code-list-value.entity.js';
import { CommunicationCode } from './entities/communication-code.entity.js';
import { Session } from './session.js';

/** Three sessions: one for the keys, one for the codes, and one for the use of keys. So none of them waits for another. */
export const poolOptions = (
  address: DatabaseAddress,
): DataSourceOptions & { manualInitialization: true } => ({
  type: 'postgres',
  entities: [CodeListValue, AreaProperty, CommunicationCode, ApiKey],
  manualInitialization: true, // the first reading connects, so that the service can start without the database
  poolSize: 3,
  connectTimeoutMS: 2_000,
  applicationName: 'order-lookup-services',
  poolErrorHandler: () => undefined, // an idle session ended: the pool makes a new one, and the next look logs that the database is away
  // The time limit of a query is a little longer than the server's own, whose error message is more precise. A session that has reached its
  // lifetime ends when it is free, so another address or password counts then
  extra: {
    Client: Session,
    address,
    query_timeout: 2_500,
    idleTimeoutMillis: 30_000,
    maxLifetimeSeconds: 290,
  },
});
