import type { Client } from 'pg';
import { columnOf } from '../cli/transaction.js';
import { type Finding, ok } from './finding.js';

const SERVER = `select format('PostgreSQL %s, database %s, role %s',
  current_setting('server_version'), current_database(), current_user)`;

/** That it can be reached has been found before: otherwise there is no client. */
export async function examineDatabase(client: Client): Promise<Finding> {
  const [text = ''] = await columnOf(client, SERVER);
  return ok(text);
}
