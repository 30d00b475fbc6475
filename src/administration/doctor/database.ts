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
import type { Finding } from './finding.js';

const TABLES = `array['revision', 'area_property', 'code_list_value', 'communication_code', 'api_key', 'trigger_fault']`;
const ISSUE = `Issue one: ${typed('keys', 'issue --client NAME')}`;

export const DATABASE_CHECKS: Readonly<Record<string, (client: Client) => Promise<Finding>>> = {
  async database(client) {
    const { rows } = await client.query<{ said: string }>(
      `select format('PostgreSQL %s, database %s, role %s', current_setting('server_version'), current_database(), current_user) as said`,
    );
    const said = rows[0]?.said ?? '';
    const exposed = transportWarning(process.env);
    if (exposed) return { said, warning: `The service says at its start: ${exposed}` };
    const { NODE_ENV, DATABASE_URL, PGPASSWORD } = process.env;
    return NODE_ENV === 'production' && (PGPASSWORD || holdsPassword(DATABASE_URL))
      ? { said, warning: 'Its password is in the environment: put it into DATABASE_URL_FILE.' }
      : { said };
  },
  async migrations(client) {
    const { pending, gone } = await readState(client, await readMigrations(MIGRATIONS));
    const said = `pending: ${pending.map(({ name }) => name).join(', ')}`;
    if (pending.length > 0) return { said, fault: `As the owner: ${typed('migrate', 'up')}` };
    if (gone.length > 0) return { said: gone.join(' '), warning: 'Is it a newer release?' };
    return { said: 'all applied' };
  },
  async role(client) {
    const { rows } = await client.query<{ unread: string | null; writes: boolean; role: string }>(
      `select current_user as role, string_agg(name, ', ') filter (where not has_table_privilege('public.' || name, 'select')) as unread,
        bool_or(has_table_privilege('public.' || name, 'insert, update, delete, truncate')) as writes from unnest(${TABLES}) as name`,
    );
    const { role, unread, writes } = rows[0] ?? {};
    const grant = `As the owner: grant select on ${unread} to ${role};`;
    if (unread) return { said: `${role} may not read ${unread}`, fault: grant };
    const said = `${role} may read all that the service needs`;
    return writes
      ? {
          said: `${said}, and may write too`,
          warning: 'Right for migrations, not for the service.',
        }
      : { said: `${said}, and write nothing` };
  },
  contents: () =>
    withReading(async (manager) => {
      const { values, records } = await readCodes(manager);
      const [row] = await manager.query<{ keys: number }[]>(
        `select count(*)::int as keys from public.api_key where ${KEY_STATE} in ('in force', 'ends')`,
      );
      const said = `${values.length} values, ${records.length} communication codes, ${row?.keys} API keys in force`;
      return row?.keys ? { said } : { said, warning: ISSUE };
    }),
  async triggers(client) {
    const said = (await triggerFaults(client)).join(', ');
    return said
      ? { said, fault: 'As the owner: alter table … enable always trigger …' }
      : { said: 'none is missing or off' };
  },
};

/** Why a key passes or does not. The service itself never tells a caller. */
export async function examineKey(client: Client, key: string): Promise<Finding> {
  const { rows } = await client.query<{ whose: string; state: KeyState }>(
    `select id || ' of ' || client as whose, ${KEY_STATE} as state from public.api_key where key_hash = decode($1, 'hex')`,
    [hashApiKey(key)],
  );
  const { whose, state } = rows[0] ?? {};
  if (state === 'in force' || state === 'ends') return { said: `${whose} is in force` };
  if (state)
    return { said: `${whose} ${state === 'ended' ? 'was revoked' : 'has expired'}`, fault: ISSUE };
  return hasValidChecksum(key)
    ? { said: 'it is not in this database', fault: ISSUE }
    : { said: 'its checksum does not fit: it is mistyped or cut', fault: 'Copy the whole key.' };
}
