import { text as readAll } from 'node:stream/consumers';
import type { Client } from 'pg';
import { hasValidChecksum, hashApiKey } from '../../auth/api-keys/api-key.js';
import { KEY_STATE, type KeyState } from '../../auth/api-keys/key-state.js';
import { readCodes } from '../../codes/read-codes.js';
import { holdsPassword, transportWarning } from '../../configuration/database-url.js';
import { ConfigurationError, readConfiguration } from '../../configuration/read-configuration.js';
import { describe } from '../../telemetry/repeated-failure.js';
import { FLAG, command, typed } from '../frame/command.js';
import { withDatabase, withReading } from '../frame/connect.js';
import { readState } from '../migrate/applied-migrations.js';
import { triggerFaults } from '../migrate/drift.js';
import { MIGRATIONS, readMigrations } from '../migrate/migration-files.js';
import { type Finding, type KeySets, examineIssuer, examineToken } from './issuer.js';

const TABLES = `array['revision', 'area_property', 'code_list_value', 'communication_code', 'api_key', 'trigger_fault']`;
const ISSUE = `Issue one: ${typed('keys', 'issue --client NAME')}`;
/** How long the doctor waits for standard input, in milliseconds, before it continues without it. */
const INPUT_MS = 500;

export const doctor = command({
  usage: '[--json]',
  summary: 'checks configuration, database and issuer, and says what to do',
  options: { json: FLAG },
  run: async ({ json }) => {
    const found: object[] = [];
    let count = 0;
    for await (const [subject, { said, fault, warning }] of examine()) {
      const state = fault ? 'fault' : warning ? 'warning' : 'ok';
      const remedy = fault ?? warning;
      found.push({ subject, state, said, remedy });
      if (fault) count++;
      const more = remedy ? `\n${' '.repeat(24)}→ ${remedy}` : '';
      // The checks that follow may take some time
      if (!json)
        process.stdout.write(`${state.padEnd(7)}  ${subject.padEnd(13)}  ${said}${more}\n`);
    }
    const text = `\nThings that keep the service from working: ${count || 'none'}.`;
    return { text, json: found, found: count > 0 };
  },
});

async function* examine(): AsyncGenerator<readonly [subject: string, Finding]> {
  const given = await givenCredentials();
  const configuration = await attempt(() => readConfiguration(process.env));
  const isComplete = 'OAUTH_ISSUER' in configuration;
  yield ['configuration', isComplete ? { said: 'complete' } : configuration];
  for (const [subject, check] of Object.entries(DATABASE)) {
    const finding = await attempt(() => withDatabase(check));
    yield [subject, finding];
    if (subject === 'database' && finding.fault) break; // the others would say the same
  }
  for (const key of given.filter((one) => !one.includes('.')))
    yield ['API key', await attempt(() => withDatabase((client) => examineKey(client, key)))];
  if (!isComplete) return;
  const keySets: KeySets = new Map();
  for (const name of configuration.OAUTH_ISSUER)
    yield ['issuer', await examineIssuer(name, configuration, keySets)];
  for (const token of given.filter((one) => one.includes('.')))
    yield ['access token', await examineToken(token, configuration, keySets)];
}

/** What fails is a fault, and the other checks go on. */
async function attempt<T>(check: () => Promise<T> | T): Promise<T | Finding> {
  try {
    return await check();
  } catch (error) {
    return error instanceof ConfigurationError
      ? { said: error.faults.join(' '), fault: 'Every variable is explained in .env.example.' }
      : { said: describe(error), fault: 'Correct this first: others may follow from it.' };
  }
}

/** What is piped in, a line each; a whole header line may be pasted. Nothing if standard input is a terminal or stays silent. */
async function givenCredentials(): Promise<string[]> {
  const { stdin } = process;
  if (stdin.isTTY) return [];
  const silence = setTimeout(() => stdin.destroy(), INPUT_MS);
  stdin.once('readable', () => clearTimeout(silence));
  const lines = (await readAll(stdin).catch(() => '')).split('\n');
  return lines
    .map((line) => line.trim().replace(/^((authorization|api-key): *)?(bearer +)?/i, ''))
    .filter((credential) => credential !== '');
}

const DATABASE: Readonly<Record<string, (client: Client) => Promise<Finding>>> = {
  async database(client) {
    const { rows } = await client.query<{ said: string }>(
      `select format('PostgreSQL %s, database %s, role %s', current_setting('server_version'), current_database(), current_user) as said`,
    );
    const { NODE_ENV, DATABASE_URL, PGPASSWORD } = process.env;
    const isOpen = NODE_ENV === 'production' && (PGPASSWORD || holdsPassword(DATABASE_URL));
    const told = 'Its password is in the environment: put it into DATABASE_URL_FILE.';
    const warning = transportWarning(process.env) ?? (isOpen ? told : undefined);
    return { said: rows[0]?.said ?? '', warning };
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
    const said = `${role} may read all that the service needs, and`;
    if (!writes) return { said: `${said} write nothing` };
    return { said: `${said} may write too`, warning: 'Right for migrations, not for the service.' };
  },
  contents: () =>
    withReading(async (manager) => {
      const { values, records } = await readCodes(manager);
      const [row] = await manager.query<{ keys: number }[]>(
        `select count(*)::int as keys from public.api_key where ${KEY_STATE} in ('in force', 'ends')`,
      );
      const said = `${values.length} values, ${records.length} communication codes, ${row?.keys} API keys in force`;
      return { said, warning: row?.keys ? undefined : ISSUE };
    }),
  async triggers(client) {
    const said = (await triggerFaults(client)).join(', ');
    const fault = 'As the owner: alter table … enable always trigger …';
    return said ? { said, fault } : { said: 'none is missing or off' };
  },
};

/** Why a key passes or does not. The service itself never tells a caller. */
async function examineKey(client: Client, key: string): Promise<Finding> {
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
