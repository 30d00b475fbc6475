import type { DataSourceOptions } from 'typeorm';
import { ApiKey } from './entities/api-key.entity.js';
import { AreaProperty } from './entities/area-property.entity.js';
import { CodeListValue } from './entities/code-list-value.entity.js';
import { CommunicationCode } from './entities/communication-code.entity.js';
import { CONNECT_TIMEOUT_MS, QUERY_TIMEOUT_MS, clientOptions } from './session.js';

export const entities = [CodeListValue, AreaProperty, CommunicationCode, ApiKey];

/** Two sessions: a list of keys is read while a long list of codes is. With the listening one that makes three for each replica. */
export const dataSourceOptions = (databaseUrl: string): DataSourceOptions => ({
  type: 'postgres',
  url: databaseUrl,
  entities,
  synchronize: false,
  migrationsRun: false,
  logging: false,
  poolSize: 2,
  connectTimeoutMS: CONNECT_TIMEOUT_MS,
  poolErrorHandler: () => undefined, // an idle connection that ended: the pool makes a new one, and the listener says that the database is away
  extra: {
    ...clientOptions(databaseUrl),
    query_timeout: QUERY_TIMEOUT_MS,
    idleTimeoutMillis: 30_000,
  },
});
