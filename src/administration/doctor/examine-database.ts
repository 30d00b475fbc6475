import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Client } from 'pg';
import { hasValidChecksum, hashApiKey } from '../../auth/api-keys/api-key.js';
import { KEY_STATE, type KeyState } from '../../auth/api-keys/key-state.js';
import { readCodes } from '../../codes/read-codes.js';
import { isThisMachine } from '../../configuration/database-url.js';
import { typed } from '../frame/command.js';
import { withManager } from '../frame/connect.js';
import { readState } from '../migrate/applied-migrations.js';
import { triggerFaults } from '../migrate/drift.js';
import { MIGRATIONS, readMigrations } from '../migrate/migration-files.js';
import { type Finding, fault, ok, warning } from './finding.js';

/** The tables and views that the service reads. */
const TABLES = `unnest(array['revision', 'area_property', 'code_list_value', 'communication_code', 'api_key', 'trigger_fault'])`;

export const CHECKS: Readonly<Record<string, (client: Client) => Promise<Finding> | Finding>> = {
  async database(client) {
    const { rows } = await client.query<Record<'version' | 'database' | 'role', string>>(
      `select current_setting('server_version') as version, current_database() as database, current_user as role`,
    );
    return ok(
      'database',
      `PostgreSQL ${rows[0]?.version}, database ${rows[0]?.database}, role ${rows[0]?.role}`,
    );
  },

  /** As this side of the connection sees it: behind a pooler the server sees another. */
  encryption(client) {
    const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
    const remedy =
      'Set sslmode=verify-full in the connection string, and sslrootcert=FILE for a CA of your own.';
    if (stream instanceof TLSSocket)
      return stream.authorized
        ? ok('encryption', `${stream.getProtocol()}, the certificate is that of ${client.host}`)
        : warning('encryption', `the certificate of ${client.host} is not verified`, remedy);
    return isThisMachine(client.host)
      ? ok('encryption', 'none is needed, since the database is on this machine')
      : warning('encryption', `the connection to ${client.host} is not encrypted`, remedy);
  },

  async migrations(client) {
    const { pending, gone } = await readState(client, await readMigrations(MIGRATIONS));
    if (pending.length > 0)
      return fault(
        'migrations',
        `pending: ${pending.map(({ name }) => name).join(', ')}`,
        `As the owner of the tables: ${typed('migrate', 'plan')}, then ${typed('migrate', 'up')}`,
      );
    return gone.length > 0
      ? warning('migrations', gone.join(' '), 'If they belong to a newer release, roll it out.')
      : ok('migrations', 'all are applied');
  },

  async role(client) {
    const { rows } = await client.query<{ unread: string | null; writes: boolean; role: string }>(
      `select current_user as role, string_agg(name, ', ') filter (where not has_table_privilege(format('public.%I', name), 'select')) as unread,
        bool_or(has_table_privilege(format('public.%I', name), 'insert, update, delete, truncate')) as writes from ${TABLES} as name`,
    );
    const { role, unread, writes } = rows[0] ?? {};
    if (unread)
      return fault(
        'role',
        `${role} may not read ${unread}`,
        `As the owner: grant select on ${unread} to ${role};`,
      );
    return writes
      ? warning(
          'role',
          `${role} may read, and may write too`,
          'This is right for the role that runs migrations. Give the service a role that may only read (deploy/database/1-roles.sql).',
        )
      : ok('role', `${role} may read all that the service needs, and write nothing`);
  },

  contents: () =>
    withManager(async (client, manager) => {
      await client.query('set search_path = pg_catalog, public, pg_temp; set row_security = off');
      const { values, records } = await readCodes(manager);
      const { rows } = await client.query<{ keys: number }>(
        `select count(*)::int as keys from public.api_key where ${KEY_STATE} in ('in force', 'ends')`,
      );
      const said = `${values.length} values, ${records.length} communication codes, ${rows[0]?.keys} API keys in force`;
      return rows[0]?.keys
        ? ok('contents', said)
        : warning('contents', said, `Issue a key: ${typed('keys', 'issue --client NAME')}`);
    }),

  async triggers(client) {
    const faults = await triggerFaults(client);
    return faults.length > 0
      ? fault(
          'triggers',
          faults.join(', '),
          'Changes are not recorded, and served within ten minutes only. As the owner: alter table … enable always trigger …',
        )
      : ok('triggers', 'none is missing or off');
  },
};

/** Why a key passes or does not. The service itself never tells a caller. */
export async function examineKey(client: Client, key: string): Promise<Finding> {
  const { rows } = await client.query<{ id: string; client: string; state: KeyState }>(
    `select id, client, ${KEY_STATE} as state from public.api_key where key_hash = decode($1, 'hex')`,
    [hashApiKey(key)],
  );
  const [row] = rows;
  const remedy = `Issue another: ${typed('keys', 'issue --client NAME')}`;
  if (!row && !hasValidChecksum(key))
    return fault(
      'API key',
      'its checksum does not fit: it is mistyped or cut',
      'Copy the whole key.',
    );
  if (!row) return fault('API key', 'it is not in this database', `Check DATABASE_URL. ${remedy}`);
  const whose = `${row.id} of ${row.client}`;
  if (row.state === 'ended') return fault('API key', `${whose} was revoked`, remedy);
  return row.state === 'expired'
    ? fault('API key', `${whose} has expired`, remedy)
    : ok('API key', `${whose} is in force`);
}
