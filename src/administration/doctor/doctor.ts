// The doctor checks what the service needs, and says what to do about each fault. The doctor changes nothing.
import { IssuerFault } from '../../auth/issuers/issuer-fault.js';
import { NO_USABLE_KEY_REMEDY } from '../../auth/issuers/signing-keys.js';
import type { Configuration } from '../../configuration/configuration.js';
import { type DatabaseAddress, findTransportWarning, parseDatabaseAddress } from '../../configuration/database-url.js';
import { ConfigurationError, readConfiguration } from '../../configuration/read-configuration.js';
import { findServerRemedy } from '../../database/database-errors.js';
import type { Database, Work } from '../../database/database.js';
import { OperatorError, toMessage } from '../../telemetry/error-message.js';
import { withDatabase } from '../cli/connection.js';
import { showInvisible } from '../cli/invisible-characters.js';
import { type ProgramIo, print } from '../cli/program.js';
import { type CheckResult, fault, ok, warning } from './check-result.js';
import {
  checkClock,
  checkContent,
  checkDatabase,
  checkMigrations,
  checkOwner,
  checkRole,
  checkTriggers,
} from './database-checks.js';
import {
  type GivenCredentials,
  IssuerKeys,
  checkAccessToken,
  checkApiKey,
  readGivenCredentials,
} from './refused-credentials.js';

interface Check {
  readonly subject: string;
  /** The subjects of earlier checks. If one of them has a fault or was skipped, this check is skipped. */
  readonly needs: readonly string[];
  /** The effect of a fault. If `impact` is undefined, calls are still answered. */
  readonly impact?:
    | 'all' // a new replica answers no call
    | 'some' // calls with good tokens may be refused
    | 'cause' // the fault may cause another fault, whose impact is `all` or `some`
    | 'credential'; // calls with this credential are refused
  /** The remedy for an error that the check throws. */
  readonly remedy?: string;
  readonly run: () => Promise<CheckResult>;
}

interface CheckedSubject extends Check {
  readonly result: CheckResult;
}

const USUAL_REMEDY = 'Correct this, and run the doctor again.';
const CONTENT_REMEDY =
  'Correct the rows by a migration. If a table or a right is missing, see the lines migrations and role. If row ' +
  'level security is on, run as the owner: alter table public.TABLE disable row level security;';
const CONFIGURATION_REMEDY =
  'Every variable is explained in .env.example. To use the variables of the demo, run: . .data/demo.env';
const ROLE_REMEDY = 'Use the role order_lookup_service, or as the owner: grant usage on schema public to ROLE;';

const NO_CREDENTIALS: GivenCredentials = { keys: [], tokens: [] };

/**
 * Prints the result of each check as soon as the check ends. The status is 2 if there is a fault.
 * @param input `-` to read credentials from standard input, or undefined to read none
 */
export async function runChecks(io: ProgramIo, input?: string): Promise<void> {
  if (input !== undefined && input !== '-') {
    throw new OperatorError(`"${input}" is not known. Write - to read credentials from standard input.`);
  }
  const given = input === '-' ? await readGivenCredentials(io.stdin) : NO_CREDENTIALS;
  const checked: CheckedSubject[] = [];
  const run = (check: Check): Promise<void> => runCheck(io, check, checked);
  await run({ subject: 'configuration', needs: [], impact: 'all', run: () => checkConfiguration(io.env) });
  if (hasDatabaseAddress(io.env)) {
    await withDatabase(async (database) => {
      for (const check of listDatabaseChecks(database, given)) await run(check);
    }, io.env);
  }
  if (isPassed('configuration', checked)) {
    const configuration = readConfiguration(io.env);
    const issuerKeys = new IssuerKeys(configuration);
    issuerKeys.askAll(); // starts all fetches, so that the checks below wait for them together
    for (const check of listIssuerChecks(configuration, issuerKeys, given)) await run(check);
  }
  print(io, `\n${describeOutcome(checked)}`);
  io.exitCode = checked.some(({ result }) => result.state === 'fault') ? 2 : 0;
}

/** Lists the checks in an order in which causes come before their consequences. */
function listDatabaseChecks(database: Database, { keys }: GivenCredentials): Check[] {
  const reading = (work: Work<CheckResult>) => () => database.within('read', work);
  return [
    { subject: 'database', needs: [], impact: 'all', run: reading(checkDatabase) },
    { subject: 'clock', needs: ['database'], impact: 'some', run: reading(checkClock) },
    { subject: 'migrations', needs: ['database'], impact: 'cause', run: reading(checkMigrations) },
    { subject: 'owner', needs: ['database'], run: reading(checkOwner) },
    { subject: 'role', needs: ['database'], impact: 'all', remedy: ROLE_REMEDY, run: reading(checkRole) },
    { subject: 'content', needs: ['database'], impact: 'all', remedy: CONTENT_REMEDY, run: reading(checkContent) },
    { subject: 'triggers', needs: ['migrations'], run: reading(checkTriggers) },
    ...keys.map((key, index): Check => ({
      subject: nameCredential('API key', index, keys),
      needs: ['role'],
      impact: 'credential',
      run: reading((session) => checkApiKey(session, key)),
    })),
  ];
}

/** Returns whether the database can be checked. Faults in other variables do not prevent that. */
function hasDatabaseAddress(address: DatabaseAddress): boolean {
  try {
    parseDatabaseAddress(address);
    return true;
  } catch {
    return false;
  }
}

async function runCheck(io: ProgramIo, check: Check, checked: CheckedSubject[]): Promise<void> {
  if (!check.needs.every((subject) => isPassed(subject, checked))) return;
  const result = await check.run().catch((error: unknown) => {
    if (error instanceof IssuerFault) return fault(error.found, `${error.remedy}.`);
    const inOneLine = toMessage(error).replaceAll(/\n[ -]*/g, ' '); // some messages are lists, whose lines begin with -
    // Not `findRemedy`: for a missing right it advises the role order_lookup_owner, which the service must not use
    return fault(inOneLine, findServerRemedy(error) ?? check.remedy ?? USUAL_REMEDY);
  });
  checked.push({ ...check, result });
  print(io, describeResult(check.subject, result));
}

function isPassed(subject: string, checked: readonly CheckedSubject[]): boolean {
  return checked.some((one) => one.subject === subject && one.result.state !== 'fault');
}

function listIssuerChecks(configuration: Configuration, issuerKeys: IssuerKeys, { tokens }: GivenCredentials): Check[] {
  const issuerChecks = configuration.OAUTH_ISSUER.map((issuer): Check => ({
    subject: 'issuer',
    needs: [],
    impact: 'some', // tokens of the other issuers are still accepted. If no issuer is left, isEveryIssuerFaulty sees it
    run: () => checkIssuer(issuer, issuerKeys),
  }));
  const tokenChecks = tokens.map((token, index): Check => ({
    subject: nameCredential('access token', index, tokens),
    needs: [],
    impact: 'credential',
    run: () => checkAccessToken(token, configuration, issuerKeys),
  }));
  return [...issuerChecks, ...tokenChecks];
}

function nameCredential(kind: string, index: number, given: readonly string[]): string {
  return given.length > 1 ? `${kind} ${index + 1}` : kind;
}

const STATE_WIDTH = 7;
const SUBJECT_WIDTH = 13;
const GAP = '  ';
const REMEDY_INDENT = STATE_WIDTH + GAP.length + SUBJECT_WIDTH + GAP.length;

const NOT_ANSWERED = 'A new replica would not answer calls. Running replicas may answer from memory.';

function describeResult(subject: string, result: CheckResult): string {
  const text = showInvisible(result.text); // it may quote a variable, a token or the client of a key
  const line = [result.state.padEnd(STATE_WIDTH), subject.padEnd(SUBJECT_WIDTH), text].join(GAP);
  return result.state === 'ok' ? line : `${line}\n${' '.repeat(REMEDY_INDENT)}→ ${result.remedy}`;
}

function describeOutcome(checked: readonly CheckedSubject[]): string {
  const answered = describeAnswers(checked);
  const refused = listFaulty(checked, ['credential']);
  return refused === '' ? answered : `${answered} Refused: ${refused}.`;
}

function describeAnswers(checked: readonly CheckedSubject[]): string {
  const toCorrect = listFaulty(checked, ['all', 'some', 'cause']);
  const isNoCallAnswered = listFaulty(checked, ['all']) !== '' || isEveryIssuerFaulty(checked);
  if (isNoCallAnswered) return `${NOT_ANSWERED} Correct ${toCorrect}.`;
  if (listFaulty(checked, ['some']) !== '') return `Calls with good tokens may be refused. Correct ${toCorrect}.`;
  return 'Calls are answered.';
}

/** Also returns true if no issuer was checked: then the configuration has a fault. */
function isEveryIssuerFaulty(checked: readonly CheckedSubject[]): boolean {
  return checked.filter(({ subject }) => subject === 'issuer').every(({ result }) => result.state === 'fault');
}

function listFaulty(checked: readonly CheckedSubject[], impacts: readonly Check['impact'][]): string {
  const faulty = checked.filter((one) => one.result.state === 'fault' && impacts.includes(one.impact));
  return [...new Set(faulty.map(({ subject }) => subject))].join(', ');
}

async function checkConfiguration(environment: NodeJS.ProcessEnv): Promise<CheckResult> {
  try {
    const transportWarning = findTransportWarning(readConfiguration(environment));
    return transportWarning === undefined ? ok('complete') : warning('complete', transportWarning);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return fault(error.faults.join('; '), CONFIGURATION_REMEDY);
  }
}

async function checkIssuer(issuer: string, issuerKeys: IssuerKeys): Promise<CheckResult> {
  const { address, keys } = await issuerKeys.fetch(issuer);
  const keyCount = keys.usableCount;
  const text = `${issuer}: ${keyCount} signing keys at ${address}`;
  return keyCount > 0
    ? ok(text)
    : fault(text, `${NO_USABLE_KEY_REMEDY}. Until then, running replicas refuse the tokens of this issuer, too.`);
}
