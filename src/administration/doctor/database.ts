import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Client } from 'pg';
import { isThisMachine } from '../../configuration/database-url.js';
import { KEY_STATE } from '../../auth/api-keys/key-state.js';
import { appliedMigrations, compareWithApplied, faultOf } from '../migrate/applied-migrations.js';
import { incompleteTables } from '../migrate/drift.js';
import { MIGRATIONS, readMigrations } from '../migrate/read-migrations.js';
import { type Finding, attempt, clockFinding, fault, ok, warning } from './finding.js';

/** The tables and views that the service reads. */
const TABLES = [
  'revision',
  'changed_code',
  'trigger_fault',
  'area_property',
  'code_list_value',
  'communication_code',
  'api_key',
];

/** Checks the database: which one it is, pending migrations, the rights of the role, and whether notifications arrive. */
export async function examineDatabase(client: Client): Promise<Finding[]> {
  const checks = {
    database: examineServer,
    encryption: examineEncryption,
    migrations: examineMigrations,
    role: examineRole,
    contents: examineContents,
    record: examineRecord,
    notifications: examineNotifications,
    clock: examineClock,
  };
  const findings: Finding[] = [];
  for (const [subject, check] of Object.entries(checks))
    findings.push(...(await attempt(subject, () => check(client))));
  return findings;
}

async function examineServer(client: Client): Promise<Finding> {
  const { rows } = await client.query<Record<'version' | 'database' | 'role', string>>(
    `select current_setting('server_version') as version, current_database() as database, current_user as role`,
  );
  const { version, database, role } = rows[0] ?? {};
  return ok('database', `PostgreSQL ${version}, database ${database}, role ${role}`);
}

/** As this side of the connection sees it: behind a pooler the server sees another. */
function examineEncryption(client: Client): Finding {
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
  const remedy =
    'Set sslmode=verify-full in the connection string, and sslrootcert=FILE for a CA of your own.';
  if (!(stream instanceof TLSSocket))
    return isThisMachine(client.host)
      ? ok('encryption', 'none is needed, since the database is on this machine')
      : warning('encryption', `the connection to ${client.host} is not encrypted`, remedy);
  return stream.authorized
    ? ok('encryption', `${stream.getProtocol()}, the certificate is that of ${client.host}`)
    : warning('encryption', `the certificate of ${client.host} is not verified`, remedy);
}

async function examineClock(client: Client): Promise<Finding> {
  const { rows } = await client.query<{ now: string }>(
    'select extract(epoch from clock_timestamp()) * 1000 as now',
  );
  return clockFinding('the database', Number(rows[0]?.now) - Date.now());
}

async function examineMigrations(client: Client): Promise<Finding> {
  const files = await readMigrations(MIGRATIONS);
  const { applied, pending } = compareWithApplied(files, await appliedMigrations(client));
  if (pending.length > 0)
    return fault(
      'migrations',
      `pending: ${pending.map(({ name }) => name).join(', ')}`,
      'As the owner of the tables: migrate plan, then migrate up.',
    );
  const faults = applied.map(faultOf).filter((said) => said !== undefined);
  if (faults.length > 0)
    return warning(
      'migrations',
      faults.join(' '),
      'If they belong to a newer release, roll it out. Until then its migrations have to work with this release.',
    );
  return ok('migrations', `all ${files.length} are applied`);
}

async function examineRole(client: Client): Promise<Finding | undefined> {
  const { rows } = await client.query<{
    role: string;
    name: string;
    reads: boolean;
    writes: boolean;
  }>(
    `select current_user as role, name, has_table_privilege(format('%I', name), 'select') as reads,
      has_table_privilege(format('%I', name), 'insert, update, delete, truncate') as writes
      from unnest($1::text[]) as name where to_regclass(format('%I', name)) is not null`,
    [TABLES],
  );
  if (rows.length < TABLES.length) return undefined; // the migrations are pending
  const role = rows[0]?.role;
  const unread = rows.filter(({ reads }) => !reads).map(({ name }) => name);
  if (unread.length > 0)
    return fault(
      'role',
      `${role} may not read ${unread.join(', ')}`,
      `As the owner: grant select on ${unread.join(', ')} to ${role};`,
    );
  if (rows.some(({ writes }) => writes))
    return warning(
      'role',
      `${role} may read, and may write too`,
      'This is right for the role that runs migrations. Give the service a role that may only read (deploy/database/1-roles.sql).',
    );
  return ok('role', `${role} may read all that the service needs, and write nothing`);
}

async function examineContents(client: Client): Promise<Finding | undefined> {
  try {
    const { rows } = await client.query<Record<'values' | 'records' | 'keys', string>>(
      `select (select count(*) from code_list_value) as values, (select count(*) from communication_code) as records,
        (select count(*) from api_key where ${KEY_STATE} in ('in force', 'ends')) as keys`,
    );
    const { values, records, keys } = rows[0] as Record<'values' | 'records' | 'keys', string>;
    const said = `${values} values, ${records} communication codes, ${keys} API keys in force`;
    return Number(keys) > 0
      ? ok('contents', said)
      : warning('contents', said, 'No client can call yet. Issue a key: keys issue --client NAME');
  } catch {
    return undefined; // the tables are missing or may not be read: an earlier finding says so
  }
}

async function examineRecord(client: Client): Promise<Finding> {
  const tables = (await incompleteTables(client)).join(', ');
  return tables
    ? warning(
        'record',
        `triggers of ${tables} are missing or switched off`,
        'As the owner: alter table … enable always trigger …',
      )
    : ok('record', 'nothing is missing in the record of changes');
}

/** Without LISTEN, which behind a pooler would stay in a session that is another client's next. */
async function examineNotifications(client: Client): Promise<Finding> {
  const { rows } = await client.query<{ standby: boolean; pid: number }>(
    'select pg_is_in_recovery() as standby, pg_backend_pid() as pid',
  );
  const deaf = rows[0]?.standby
    ? 'the database is a hot standby, which sends none'
    : rows[0]?.pid === (client as unknown as { processID: number }).processID
      ? undefined
      : 'a pooler is between the service and the database, and may not pass them on';
  return deaf === undefined
    ? ok('notifications', 'the connection is direct, so they arrive')
    : warning(
        'notifications',
        deaf,
        'The service asks for changes twice a second. For changes at once, connect to the primary directly.',
      );
}
