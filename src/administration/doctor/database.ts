import type { Client } from 'pg';
import { hasValidChecksum, hashApiKey } from '../../auth/api-keys/api-key.js';
import { KEY_STATE, type KeyState } from '../../auth/api-keys/key-state.js';
import { readCodes } from '../../codes/read-codes.js';
import { holdsPassword, transportWarning } from '../../configuration/database-url.js';
import { typed } from '../frame/command.js';
import { withReading } from '../frame/connect.js';
import { readState } from '../migrate/applied-migrations.js';
import { triggerFaults } from '../migrate/drift.js';
import { MIGRATIONS, readMigrations } from '../migrate/migration-files.js';
import { type Finding, fault, ok, warning } from './finding.js';

const TABLES = `array['revision', 'area_property', 'code_list_value', 'communication_code', 'api_key', 'trigger_fault']`;
const ISSUE = `Issue one: ${typed('keys', 'issue --client NAME')}`;

export const DATABASE_CHECKS: Readonly<Record<string, (client: Client) => Promise<Finding>>> = {
  async database(client) {
    const { rows } = await client.query<{ said: string }>(
      `select format('PostgreSQL %s, database %s, role %s', current_setting('server_version'), current_database(), current_user) as said`,
    );
    const said = rows[0]?.said ?? '';
    const exposed = transportWarning(process.env);
    if (exposed) return warning(said, `The service says at its start: ${exposed}`);
    const { NODE_ENV, DATABASE_URL, PGPASSWORD } = process.env;
    return NODE_ENV === 'production' && (PGPASSWORD || holdsPassword(DATABASE_URL))
      ? warning(said, 'Its password is in the environment: put it into DATABASE_URL_FILE.')
      : ok(said);
  },
  async migrations(client) {
    const { pending, gone } = await readState(client, await readMigrations(MIGRATIONS));
    const names = pending.map(({ name }) => name).join(', ');
    if (names) return fault(`pending: ${names}`, `As the owner: ${typed('migrate', 'up')}`);
    return gone.length > 0 ? warning(gone.join(' '), 'Is it a newer release?') : ok('all applied');
  },
  async role(client) {
    const { rows } = await client.query<{ unread: string | null; writes: boolean; role: string }>(
      `select current_user as role, string_agg(name, ', ') filter (where not has_table_privilege('public.' || name, 'select')) as unread,
        bool_or(has_table_privilege('public.' || name, 'insert, update, delete, truncate')) as writes from unnest(${TABLES}) as name`,
    );
    const { role, unread, writes } = rows[0] ?? {};
    if (unread)
      return fault(
        `${role} may not read ${unread}`,
        `As the owner: grant select on ${unread} to ${role};`,
      );
    return writes
      ? warning(`${role} may read, and may write too`, 'Right for migrations, not for the service.')
      : ok(`${role} may read all that the service needs, and write nothing`);
  },
  contents: () =>
    withReading(async (manager) => {
      const { values, records } = await readCodes(manager);
      const [row] = await manager.query<{ keys: number }[]>(
        `select count(*)::int as keys from public.api_key where ${KEY_STATE} in ('in force', 'ends')`,
      );
      const said = `${values.length} values, ${records.length} communication codes, ${row?.keys} API keys in force`;
      return row?.keys ? ok(said) : warning(said, ISSUE);
    }),
  async triggers(client) {
    const faults = (await triggerFaults(client)).join(', ');
    return faults
      ? fault(faults, 'As the owner: alter table … enable always trigger …')
      : ok('none is missing or off');
  },
};

/** Why a key passes or does not. The service itself never tells a caller. */
export async function examineKey(client: Client, key: string): Promise<Finding> {
  const { rows } = await client.query<{ whose: string; state: KeyState }>(
    `select id || ' of ' || client as whose, ${KEY_STATE} as state from public.api_key where key_hash = decode($1, 'hex')`,
    [hashApiKey(key)],
  );
  const { whose, state } = rows[0] ?? {};
  if (state === 'in force' || state === 'ends') return ok(`${whose} is in force`);
  if (state) return fault(`${whose} ${state === 'ended' ? 'was revoked' : 'has expired'}`, ISSUE);
  return hasValidChecksum(key)
    ? fault('it is not in this database', ISSUE)
    : fault('its checksum does not fit: it is mistyped or cut', 'Copy the whole key.');
}
