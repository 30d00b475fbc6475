import { text as readAll } from 'node:stream/consumers';
import type { Client } from 'pg';
import {
  MAX_TOKEN_BYTES,
  decodeToken,
  faultOf,
  hasScope,
} from '../../auth/access-tokens/token-faults.js';
import { hasValidChecksum, hashApiKey } from '../../auth/api-keys/api-key.js';
import { KEY_STATE } from '../keys/keys.js';
import { discover } from '../../auth/issuers/discovery.js';
import { type KeySet, fetchKeySet, isSigned } from '../../auth/issuers/key-set.js';
import { readCodes } from '../../lookups/read-codes.js';
import { Configuration } from '../../configuration/configuration.js';
import { transportWarning } from '../../configuration/database-url.js';
import { readConfiguration } from '../../configuration/read-configuration.js';
import { objectFaults } from '../../database/objects.js';
import { messageOf } from '../../telemetry/error-message.js';
import type { Log } from '../../telemetry/log.js';
import { Tracing } from '../../telemetry/tracing.js';
import { command, typed } from '../frame/command.js';
import { textsOf, withDatabase } from '../frame/connect.js';
import { readState } from '../migrate/migration-files.js';

const FIRST = 'Correct this first: others may follow from it.';
const SCHEMA =
  'Use the role order_lookup_service, or as the owner: grant usage on schema public to ROLE;';
const ISSUE = `Copy the whole key, or issue one: ${typed('keys', 'issue --client NAME')}`;
const ASK = 'Ask the issuer for an access token of OAUTH_AUDIENCE, and copy all of it.';
/** Against the reasons that another token of the same issuer would have, too. */
const ASK_FOR: Readonly<Record<string, string>> = {
  issuer: 'Ask an issuer of OAUTH_ISSUER for the token, or add its exact iss there.',
  client: 'If this client may call, add it to OAUTH_CLIENTS.',
  'too-long': 'Have the issuer put less into it, such as fewer groups.',
};
const WAY =
  'OAUTH_ISSUER has to be exactly its iss; if its metadata is elsewhere, set OAUTH_JWKS_URI. Check the way to it: Node.js ignores HTTPS_PROXY without NODE_USE_ENV_PROXY=1.';

/** What may have a fault while calls are answered: what was piped in, and the first two. */
const [HARMLESS, GIVEN] = [/^(migrations|objects)$/, /^(API key|access token)$/];

/** What was found, and perhaps what to do: against a fault or a warning. */
type Finding = Readonly<{ text: string; fault?: string; warning?: string }>;

export const doctor = command({
  summary: 'checks configuration, database and issuer, and says what to do',
  run: async () => {
    const lines: string[] = [];
    const faults = new Set<string>();
    /** Gives whether there is no fault. What fails is one, against which `remedy` helps, and the other checks go on. */
    const examine = async (subject: string, remedy: string, check: () => Promise<Finding>) => {
      const { text, fault, warning } = await check().catch((error: Error & { code?: unknown }) => ({
        text: messageOf(error).replace(/\n[ -]*/g, ' '),
        fault: error.code === '42501' ? SCHEMA : remedy,
        warning: undefined,
      }));
      const state = fault ? 'fault' : warning ? 'warning' : 'ok';
      lines.push(`${state.padEnd(7)}  ${subject.padEnd(13)}  ${text}`);
      if (fault ?? warning) lines.push(`${' '.repeat(24)}→ ${fault ?? warning}`);
      if (fault) faults.add(subject);
      return !fault;
    };
    const given = await givenCredentials();
    const isComplete = await examine('configuration', FIRST, async () => {
      const configuration = readConfiguration(process.env);
      const warnings = [...(configuration.warnings ?? [])];
      const off = Object.assign(new Configuration(), configuration, { OTEL_SDK_DISABLED: 'true' });
      await Tracing.create(off, { warn: (text: string) => warnings.push(text) } as unknown as Log);
      return { text: 'complete', warning: warnings.join('; ') };
    });
    for (const [subject, check] of Object.entries(DATABASE)) {
      const isGood = await examine(subject, FIRST, () => withDatabase(check));
      if (subject === 'database' && !isGood) break; // the others would say the same
    }
    const keys = given.filter((one) => !one.includes('.') && !faults.has('database'));
    for (const key of keys)
      await examine('API key', ISSUE, () => withDatabase((client) => examineKey(client, key)));
    if (isComplete) {
      const configuration = readConfiguration(process.env);
      const keySets: KeySets = new Map();
      for (const name of configuration.OAUTH_ISSUER)
        await examine('issuer', WAY, () => examineIssuer(name, configuration, keySets));
      for (const token of given.filter((one) => one.includes('.')))
        await examine('access token', ASK, () => examineToken(token, configuration, keySets));
    }
    const refused = [...faults].filter((subject) => GIVEN.test(subject)).join(', ');
    const causes = [...faults].filter((subject) => !HARMLESS.test(subject) && !GIVEN.test(subject));
    const answered = causes.length > 0 ? `not answered. Correct ${causes.join(', ')}` : 'answered';
    lines.push('', `Calls are ${answered}.${refused && ` Refused: ${refused}.`}`);
    return { text: lines.join('\n'), status: faults.size > 0 ? 2 : 0 };
  },
});

/** What is piped in, a line each; a whole header line may be pasted. Nothing if standard input is a terminal or stays silent. */
async function givenCredentials(): Promise<string[]> {
  const { stdin } = process;
  if (stdin.isTTY) return [];
  const silence = setTimeout(() => stdin.destroy(), 500);
  stdin.once('readable', () => clearTimeout(silence));
  const lines = (await readAll(stdin).catch(() => '')).split('\n');
  return lines
    .map((line) => line.trim().replace(/^((authorization|api-key): *)?(bearer +)?/i, ''))
    .filter((credential) => credential !== '');
}

const SERVER = `select format('PostgreSQL %s, database %s, role %s', current_setting('server_version'), current_database(), current_user)`;
const KEYS_IN_FORCE = `select id::text from public.api_key where ${KEY_STATE} in ('in force', 'ends')`;
const DATABASE: Record<string, Parameters<typeof withDatabase<Finding>>[0]> = {
  async database(client) {
    const [text = ''] = await textsOf(client, SERVER);
    return { text, warning: transportWarning(process.env) };
  },
  async migrations(client) {
    const { pending, gone } = await readState(client);
    const fault = `As the owner: ${typed('migrate', 'up')}`;
    if (pending.length > 0) return { text: `pending: ${pending.join(', ')}`, fault };
    if (gone.length > 0) return { text: gone.join(' '), warning: 'Is it a newer release?' };
    return { text: 'all applied' };
  },
  async role(client) {
    const { rows } = await client.query<{ unread: string | null; writes: boolean; role: string }>(
      `select current_user as role, string_agg(name, ', ') filter (where not has_table_privilege('public.' || name, 'select')) as unread,
        bool_or(has_table_privilege('public.' || name, 'insert, update, delete, truncate')) as writes
       from unnest(array['revision', 'area_property', 'code_list_value', 'communication_code', 'api_key']) as name`,
    );
    const { role, unread, writes } = rows[0] ?? {};
    const grant = `As the owner: grant select on ${unread} to ${role};`;
    if (unread) return { text: `${role} may not read ${unread}`, fault: grant };
    const text = `${role} may read all that the service needs`;
    if (!writes) return { text };
    return { text: `${text}, and may write too`, warning: 'Right for migrations alone.' };
  },
  async contents(client, manager) {
    const { values, records } = await readCodes(manager);
    const { length } = await textsOf(client, KEYS_IN_FORCE);
    const text = `${values.length} values, ${records.length} communication codes, ${length} API keys in force`;
    return { text, warning: length > 0 ? undefined : ISSUE };
  },
  async objects(client) {
    const faults = await objectFaults(client);
    if (faults.length === 0) return { text: 'all are what the migrations made' };
    const text = faults.map(({ name, fault }) => `${name} ${fault}`).join(', ');
    return { text, fault: ['As the owner:', ...faults.map(({ remedy }) => remedy)].join('\n') };
  },
};

// What follows says why a credential does not pass. The service itself never tells a caller

async function examineKey(client: Client, key: string): Promise<Finding> {
  const [row = ''] = await textsOf(
    client,
    `select format('%s of %s %s', id, client, case ${KEY_STATE} when 'expired' then 'has expired' when 'ended' then 'has ended' else 'is in force' end)
     from public.api_key where key_hash = decode($1, 'hex')`,
    [hashApiKey(key)],
  );
  if (/ has \w+$/.test(row)) throw new Error(row);
  if (row) return { text: row };
  if (hasValidChecksum(key)) throw new Error('it is not in this database');
  throw new Error('its checksum does not fit: it is mistyped or cut');
}

/** Of each issuer whose keys could be fetched, by its name. */
type KeySets = Map<unknown, KeySet>;

async function examineIssuer(name: string, configuration: Configuration, keySets: KeySets) {
  const { OAUTH_ISSUER, OAUTH_JWKS_URI } = configuration;
  const given = OAUTH_JWKS_URI[OAUTH_ISSUER.indexOf(name)];
  const address = given || (await discover(name, configuration)).jwks_uri;
  const keySet = await fetchKeySet(address);
  keySets.set(name, keySet);
  const { length } = keySet.jwks.keys;
  const text = `${name}: ${length} signing keys at ${address}`;
  return { text, fault: length > 0 ? undefined : 'It has to publish keys (RFC 7517).' };
}

/** What is shown of a token. */
const SHOWN = 'alg typ kid iss aud client_id azp appid cid exp nbf iat'.split(' ');

async function examineToken(token: string, configuration: Configuration, keySets: KeySets) {
  const decoded = decodeToken(token);
  if ('reason' in decoded) {
    const text = `it has ${token.split('.').length} parts and ${token.length} bytes; a signed JWT of 3 parts and at most ${MAX_TOKEN_BYTES} bytes is needed`;
    return { text, fault: ASK_FOR[decoded.reason] ?? ASK };
  }
  const { header, claims } = decoded;
  const held = `it holds ${JSON.stringify({ ...claims, ...header }, SHOWN).slice(0, 500)}`;
  const reason = faultOf(decoded, configuration);
  if (reason)
    return { text: `refused for the reason "${reason}": ${held}`, fault: ASK_FOR[reason] ?? ASK };
  const keys = keySets.get(claims.iss);
  if (!keys) return { text: 'its signature was not checked: there are no keys of its issuer' };
  if (!(await isSigned(token, keys)))
    throw new Error(`no key of its issuer verifies its signature: ${held}`);
  const { OAUTH_REQUIRED_SCOPE: scope } = configuration;
  if (scope && !hasScope(claims, scope)) throw new Error(`it lacks the scope ${scope}: 403`);
  return { text: `it passes until ${new Date(Number(claims.exp) * 1000).toISOString()}` };
}
