// Checks what the service needs, says what to do about each fault, and whether calls are answered. It changes nothing.
import type { Client } from 'pg';
import type { EntityManager } from 'typeorm';
import { countSigningKeys } from '../auth/issuers/issuer.js';
import type { Configuration } from '../configuration/configuration.js';
import { parseDatabaseAddress, transportWarning } from '../configuration/database-url.js';
import { ConfigurationError, readConfiguration } from '../configuration/read-configuration.js';
import { lockTables } from '../database/database-sessions.js';
import { CODE_TABLES, readCodes } from '../lookups/code-rows.js';
import { toMessage } from '../telemetry/error-message.js';
import { commandLine, print } from './cli/program.js';
import { readColumn, withReading } from './cli/transaction.js';
import { KEY_STATE } from './keys.js';
import { describeMissing, readState } from './migrate/migration-state.js';
import {
  type CheckResult,
  type GivenCredentials,
  checkAccessToken,
  checkApiKey,
  fault,
  fetchKeys,
  ok,
  readGivenCredentials,
  warning,
} from './refused-credentials.js';

interface Check {
  readonly subject: string;
  /** The subjects of checks further up that have to be passed: otherwise there is nothing to look at here. */
  readonly needs: readonly string[];
  /**
   * `all`: a fault keeps every call from its answer. `cause`: it may be why others do. `credential`: it refuses the calls
   * with this one.
   */
  readonly concerns?: 'all' | 'cause' | 'credential';
  /** An error that it throws is a fault, against which this helps. */
  readonly remedy?: string;
  readonly run: () => Promise<CheckResult>;
}

interface CheckedSubject extends Check {
  readonly result: CheckResult;
}

const USUAL_REMEDY = 'Correct this, and run the doctor again.';
const CONTENT_REMEDY =
  'Correct the rows by a migration, and have it add the constraint again that was dropped. A missing table or right is ' +
  'a matter of migrations or role.';
const CONFIGURATION_REMEDY = 'Every variable is explained in .env.example. For those of the demo: . .data/demo.env';
const ROLE_REMEDY = 'Use the role order_lookup_service, or as the owner: grant usage on schema public to ROLE;';
const ISSUER_REMEDY =
  'Without an answer: it does not run, or cannot be reached from here; Node.js ignores HTTPS_PROXY without ' +
  'NODE_USE_ENV_PROXY=1. With one: OAUTH_ISSUER has to be exactly its iss; if its metadata is elsewhere, set ' +
  'OAUTH_JWKS_URI.';

const CONFIGURATION: Check = { subject: 'configuration', needs: [], concerns: 'all', run: checkConfiguration };
/** In an order in which no fault hides behind one that follows from it. Each reads in a transaction of its own. */
const DATABASE_CHECKS: readonly Check[] = [
  { subject: 'database', needs: [], concerns: 'all', run: () => withReading(checkDatabase) },
  { subject: 'row security', needs: ['database'], concerns: 'all', run: () => withReading(checkRowSecurity) },
  { subject: 'migrations', needs: ['row security'], concerns: 'cause', run: () => withReading(checkMigrations) },
  { subject: 'role', needs: ['database'], concerns: 'all', remedy: ROLE_REMEDY, run: () => withReading(checkRole) },
  {
    subject: 'content',
    needs: ['row security'],
    concerns: 'all',
    remedy: CONTENT_REMEDY,
    run: () => withReading(checkContent),
  },
  { subject: 'triggers', needs: ['migrations'], run: () => withReading(checkTriggers) },
];

/** Prints what each check found. Status 2 where there is a fault. */
export async function runDoctor(): Promise<void> {
  const given = await readGivenCredentials();
  const checked: CheckedSubject[] = [];
  await runCheck(CONFIGURATION, checked);
  if (hasDatabaseAddress()) {
    for (const check of [...DATABASE_CHECKS, ...listKeyChecks(given)]) await runCheck(check, checked);
  }
  if (isPassed('configuration', checked)) {
    const configuration = readConfiguration(process.env);
    for (const check of listIssuerChecks(configuration, given)) await runCheck(check, checked);
  }
  print(describe(checked));
  process.exitCode = checked.some(({ result }) => result.state === 'fault') ? 2 : 0;
}

/** Where other variables are at fault the database is checked all the same. A faulty address is in CONFIGURATION's result. */
function hasDatabaseAddress(): boolean {
  try {
    parseDatabaseAddress(process.env);
    return true;
  } catch {
    return false;
  }
}

async function runCheck(check: Check, checked: CheckedSubject[]): Promise<void> {
  if (!check.needs.every((subject) => isPassed(subject, checked))) return;
  try {
    checked.push({ ...check, result: await check.run() });
  } catch (error) {
    const inOneLine = toMessage(error).replaceAll(/\n[ -]*/g, ' ');
    checked.push({ ...check, result: fault(inOneLine, check.remedy ?? USUAL_REMEDY) });
  }
}

function isPassed(subject: string, checked: readonly CheckedSubject[]): boolean {
  return checked.some((one) => one.subject === subject && one.result.state !== 'fault');
}

function listKeyChecks({ keys }: GivenCredentials): Check[] {
  return keys.map((key, index) => ({
    subject: nameGiven('API key', index, keys),
    needs: ['role', 'row security'],
    concerns: 'credential',
    run: () => withReading((session) => checkApiKey(session, key)),
  }));
}

function listIssuerChecks(configuration: Configuration, { tokens }: GivenCredentials): Check[] {
  const ofIssuers = configuration.OAUTH_ISSUER.map((issuer): Check => ({
    subject: 'issuer',
    needs: [],
    concerns: 'all',
    remedy: ISSUER_REMEDY,
    run: () => checkIssuer(issuer, configuration),
  }));
  const ofTokens = tokens.map((token, index): Check => ({
    subject: nameGiven('access token', index, tokens),
    needs: [],
    concerns: 'credential',
    run: () => checkAccessToken(token, configuration),
  }));
  return [...ofIssuers, ...ofTokens];
}

/** With its number, in the order in which they were given, where there are several. */
function nameGiven(kind: string, index: number, given: readonly string[]): string {
  return given.length > 1 ? `${kind} ${index + 1}` : kind;
}

const STATE_WIDTH = 7;
const SUBJECT_WIDTH = 13;
/** The blanks before the arrow below the text. */
const REMEDY_INDENT = STATE_WIDTH + SUBJECT_WIDTH + 4;

const NOT_ANSWERED = 'A new replica would not answer calls; running ones may, from memory.';

function describe(checked: readonly CheckedSubject[]): string {
  const lines: string[] = [];
  for (const { subject, result } of checked) {
    lines.push(`${result.state.padEnd(STATE_WIDTH)}  ${subject.padEnd(SUBJECT_WIDTH)}  ${result.text}`);
    if (result.state !== 'ok') lines.push(`${' '.repeat(REMEDY_INDENT)}→ ${result.remedy}`);
  }
  const isAnswered = listFaulty(checked, ['all']) === '';
  const causes = listFaulty(checked, ['all', 'cause']);
  const refused = listFaulty(checked, ['credential']);
  const answered = isAnswered ? 'Calls are answered.' : `${NOT_ANSWERED} Correct ${causes}.`;
  lines.push('', refused === '' ? answered : `${answered} Refused: ${refused}.`);
  return lines.join('\n');
}

function listFaulty(checked: readonly CheckedSubject[], concerns: readonly Check['concerns'][]): string {
  const faulty = checked.filter((one) => one.result.state === 'fault' && concerns.includes(one.concerns));
  return [...new Set(faulty.map(({ subject }) => subject))].join(', ');
}

async function checkConfiguration(): Promise<CheckResult> {
  try {
    const ofTransport = transportWarning(readConfiguration(process.env));
    return ofTransport === undefined ? ok('complete') : warning('complete', ofTransport);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return fault(error.faults.join('; '), CONFIGURATION_REMEDY);
  }
}

const SERVER = `select pg_catalog.format('PostgreSQL %s, database %s, role %s',
  current_setting('server_version'), current_database(), current_user)`;

/** That it can be reached has been found before: otherwise there is no session. */
async function checkDatabase(session: Client): Promise<CheckResult> {
  const [text = ''] = await readColumn(session, SERVER);
  return ok(text);
}

/**
 * The tables that the service reads. One that it comes to read has to be added here, with the grant in its migration:
 * otherwise the doctor finds nothing where the service may not read it.
 */
const READ_TABLES = ['revision', 'area_property', 'code_list_value', 'communication_code', 'api_key'];

/** Where the owner asks, policies do not hold for the owner but for the service. */
const ROW_SECURITY = `
  select relname from pg_class
  where relnamespace = 'public'::regnamespace and relname = any ($1) and relrowsecurity
    and (row_security_active(oid) or pg_has_role(relowner, 'usage'))
  order by relname`;

/** Nothing of ours switches it on: an event trigger of others may, for each new table. */
async function checkRowSecurity(session: Client): Promise<CheckResult> {
  const tables = await readColumn(session, ROW_SECURITY, [[...READ_TABLES, 'pgmigrations']]);
  if (tables.length === 0) return ok('off, as the service needs it');
  const statements = tables.map((table) => `alter table public.${table} disable row level security;`);
  const text = `row level security hides the rows of ${tables.join(', ')}`;
  return fault(text, forOwner(statements));
}

async function checkMigrations(session: Client): Promise<CheckResult> {
  const state = await readState(session);
  const { pending, missing } = state;
  if (pending.length > 0) {
    return fault(`pending: ${pending.join(', ')}`, `As the owner: ${commandLine('migrate', 'up')}`);
  }
  if (missing.length > 0) return warning(describeMissing(state).join(' '), 'Nothing, if a newer release applied it.');
  return ok('all applied');
}

/** The privileges of a table that is not there are null. */
const RIGHTS = `
  select
    current_user as role,
    coalesce(pg_catalog.array_agg(name) filter (where may_read is null), '{}') as missing,
    coalesce(pg_catalog.array_agg(name) filter (where not may_read), '{}') as unread,
    coalesce(bool_or(may_write), false) as "canWrite"
  from pg_catalog.unnest($1::text[]) as name
  cross join lateral (select to_regclass('public.' || name) as id) as found
  cross join lateral (
    select
      has_table_privilege(id, 'select') as may_read,
      has_table_privilege(id, 'insert, update, delete, truncate') as may_write
  ) as privileges`;

interface Rights {
  readonly role: string;
  readonly missing: readonly string[];
  readonly unread: readonly string[];
  readonly canWrite: boolean;
}

/** @throws DatabaseError where the role may not even use the schema */
async function checkRole(session: Client): Promise<CheckResult> {
  const { rows } = await session.query<Rights>(RIGHTS, [READ_TABLES]);
  const [rights] = rows;
  if (!rights) throw new Error('PostgreSQL does not tell what the role may');
  const { role, missing, unread, canWrite } = rights;
  if (missing.length > 0) {
    const text = `there is nothing that ${role} could read: ${missing.join(', ')} is missing`;
    return fault(text, `As the owner: ${commandLine('migrate', 'up')}`);
  }
  if (unread.length > 0) {
    const tables = unread.map((name) => `public.${name}`).join(', ');
    return fault(`${role} may not read ${unread.join(', ')}`, `As the owner: grant select on ${tables} to ${role};`);
  }
  const text = `${role} may read all that the service needs`;
  return canWrite ? warning(`${text}, and may write too`, 'Right for migrations alone.') : ok(text);
}

const COUNT_KEYS = `select count(*)::int from public.api_key where ${KEY_STATE} in ('in force', 'rotated')`;

/** @throws RefusedContent if the service would refuse the codes */
async function checkContent(session: Client, manager: EntityManager): Promise<CheckResult> {
  await lockTables(session, CODE_TABLES); // before the first query, which takes the snapshot
  const { values, records } = await readCodes(manager);
  const [keyCount = 0] = await readColumn<number>(session, COUNT_KEYS);
  const text = `${values.length} values, ${records.length} communication codes, ${keyCount} API keys in force`;
  return keyCount > 0 ? ok(text) : warning(text, `Issue a key: ${commandLine('keys', 'issue --client NAME')}`);
}

/**
 * Each trigger that is not there, or does not fire in every session, with the statement that mends it. Only `enable
 * always` fires also where a tool has set session_replication_role to replica to load data.
 */
const TRIGGER_FAULTS = `
  with expected (table_name, trigger_name, creation) as (
    select table_name, trigger_name, pg_catalog.format(creation, table_name)
    from pg_catalog.unnest(array[
      'code_list', 'code_list_value', 'area_property', 'communication_code', 'api_key', 'pgmigrations'
    ]) as table_name
    cross join (values
      ('record_insert', 'create trigger record_insert after insert on public.%I referencing new table as new_rows
        for each statement execute function public.record_change();'),
      ('record_update', 'create trigger record_update after update on public.%I
        referencing old table as old_rows new table as new_rows
        for each statement execute function public.record_change();'),
      ('record_delete', 'create trigger record_delete after delete on public.%I referencing old table as old_rows
        for each statement execute function public.record_change();'),
      ('record_truncate', 'create trigger record_truncate before truncate on public.%I
        for each statement execute function public.record_change();')
    ) as recording (trigger_name, creation)
    union all
    select table_name, 'lock_stamp', pg_catalog.format('create trigger lock_stamp before insert or update or delete on public.%I
        for each statement execute function public.lock_stamp(%L);', table_name, topic)
    from (values
      ('code_list', 'codes'), ('code_list_value', 'codes'), ('area_property', 'codes'),
      ('communication_code', 'codes'), ('api_key', 'keys')
    ) as locking (table_name, topic)
    union all values
      ('pgmigrations', 'set_stamps', 'create trigger set_stamps before insert or delete on public.pgmigrations
        for each statement execute function public.set_stamps();')
  )
  select
    pg_catalog.format('%s of %s %s', trigger_name, table_name,
      case
        when trigger.oid is null then 'is missing'
        when tgenabled = 'D' then 'is switched off'
        else 'is not enabled always: some tools load data past it'
      end) as fault,
    pg_catalog.concat(
      case when trigger.oid is null then regexp_replace(creation, '\\s+', ' ', 'g') || E'\\n' end,
      pg_catalog.format('alter table public.%I enable always trigger %I;', table_name, trigger_name)
    ) as remedy
  from expected
  left join pg_trigger as trigger
    on tgrelid = to_regclass('public.' || table_name) and tgname = trigger_name and not tgisinternal
  where trigger.oid is null or tgenabled <> 'A'
  order by table_name, trigger_name`;

/** The triggers by which a change gets a new revision, so that every replica reads it, and its row in the history. */
async function checkTriggers(session: Client): Promise<CheckResult> {
  const { rows } = await session.query<{ fault: string; remedy: string }>(TRIGGER_FAULTS);
  if (rows.length === 0) return ok('all that follow changes are there and enabled');
  return fault(rows.map((row) => row.fault).join(', '), forOwner(rows.map(({ remedy }) => remedy)));
}

async function checkIssuer(issuer: string, configuration: Configuration): Promise<CheckResult> {
  const { address, keys } = await fetchKeys(issuer, configuration);
  const keyCount = countSigningKeys(keys.document);
  const text = `${issuer}: ${keyCount} signing keys at ${address}`;
  return keyCount > 0 ? ok(text) : fault(text, 'It has to publish keys (RFC 7517).');
}

/** Statements for psql, ready to paste. */
function forOwner(statements: readonly string[]): string {
  return ['As the owner:', ...statements].join('\n');
}
