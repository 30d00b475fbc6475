// Checks what the service needs, says what to do about each fault, and whether calls are answered. It changes nothing.
import { countSigningKeys } from '../auth/issuers/issuer.js';
import type { Configuration } from '../configuration/configuration.js';
import { parseDatabaseAddress, transportWarning } from '../configuration/database-url.js';
import { ConfigurationError, readConfiguration } from '../configuration/read-configuration.js';
import { toMessage } from '../telemetry/error-message.js';
import { print } from './cli/program.js';
import { withReading } from './cli/transaction.js';
import {
  checkContent,
  checkDatabase,
  checkMigrations,
  checkRole,
  checkRowSecurity,
  checkTriggers,
} from './database-checks.js';
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
  readonly impact?: 'all' | 'cause' | 'credential';
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

const CONFIGURATION: Check = { subject: 'configuration', needs: [], impact: 'all', run: checkConfiguration };
/** In an order in which no fault hides behind one that follows from it. Each reads in a transaction of its own. */
const DATABASE_CHECKS: readonly Check[] = [
  { subject: 'database', needs: [], impact: 'all', run: () => withReading(checkDatabase) },
  { subject: 'row security', needs: ['database'], impact: 'all', run: () => withReading(checkRowSecurity) },
  { subject: 'migrations', needs: ['row security'], impact: 'cause', run: () => withReading(checkMigrations) },
  { subject: 'role', needs: ['database'], impact: 'all', remedy: ROLE_REMEDY, run: () => withReading(checkRole) },
  {
    subject: 'content',
    needs: ['row security'],
    impact: 'all',
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

/**
 * Where other variables are at fault the database is checked all the same. A faulty address is in CONFIGURATION's
 * result.
 */
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
    impact: 'credential',
    run: () => withReading((session) => checkApiKey(session, key)),
  }));
}

function listIssuerChecks(configuration: Configuration, { tokens }: GivenCredentials): Check[] {
  const ofIssuers = configuration.OAUTH_ISSUER.map((issuer): Check => ({
    subject: 'issuer',
    needs: [],
    impact: 'all',
    remedy: ISSUER_REMEDY,
    run: () => checkIssuer(issuer, configuration),
  }));
  const ofTokens = tokens.map((token, index): Check => ({
    subject: nameGiven('access token', index, tokens),
    needs: [],
    impact: 'credential',
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

function listFaulty(checked: readonly CheckedSubject[], impacts: readonly Check['impact'][]): string {
  const faulty = checked.filter((one) => one.result.state === 'fault' && impacts.includes(one.impact));
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

async function checkIssuer(issuer: string, configuration: Configuration): Promise<CheckResult> {
  const { address, keys } = await fetchKeys(issuer, configuration);
  const keyCount = countSigningKeys(keys.document);
  const text = `${issuer}: ${keyCount} signing keys at ${address}`;
  return keyCount > 0
    ? ok(text)
    : fault(text, 'It has to publish keys (RFC 7517). Until it does, running replicas refuse its tokens, too.');
}
