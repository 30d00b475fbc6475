import { Client } from 'pg';
import type { Configuration } from '../configuration/configuration.js';
import { connectionString } from '../configuration/database-url.js';

/** The database and the issuers that the configuration names, without user and password. */
export function sourceOf(configuration: Configuration): string {
  const { host, port, database } = new Client(connectionString(configuration)); // it is not connected
  return `${host}:${port}/${database} and ${configuration.OAUTH_ISSUER.join(', ')}`;
}
