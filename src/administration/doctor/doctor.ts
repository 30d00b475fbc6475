import { text as readAll } from 'node:stream/consumers';
import type { Client } from 'pg';
import * as tokens from '../../auth/access-tokens/token-faults.js';
import { hasValidChecksum, hashApiKey } from '../../auth/api-keys/api-key.js';
import { KEY_STATE } from '../keys/key-state.js';
import { discover } from '../../auth/issuers/discovery.js';
import { fetchKeySet, isSigned } from '../../auth/issuers/key-set.js';
import { readCodes } from '../../lookups/read-codes.js';
import type { Configuration } from '../../configuration/configuration.js';
import { transportWarning } from '../../configuration/database-url.js';
import { readConfiguration } from '../../configuration/read-configuration.js';
import { objectFaults } from '../../database/objects.js';
import { messageOf } from '../../telemetry/error-message.js';
import { command, typed } from '../frame/command.js';
import { columnOf, withDatabase } from '../frame/connect.js';
import { readState } from '../migrate/migration-files.js';

const ISSUE = `Copy the whole key, or issue one: ${typed('keys', 'issue --client NAME')}`;
const FIRST = 'Correct this first: others may follow from it.';
/** Against faults without a remedy of their own, by their subjects. */
const REMEDIES: Readonly<Record<string, string>> = {
  role: 'Use the role order_lookup_service, or as the owner: grant usage on schema public to ROLE;',
  'API key': ISSUE,
  issuer:
    'OAUTH_ISSUER has to be exactly its iss; if its metadata is elsewhere, set OAUTH_JWKS_URI. Check the way to it: Node.js ignores HTTPS_PROXY without NODE_USE_ENV_PROXY=1.',
  'access token': 'Ask the issuer for an access token of OAUTH_AUDIENCE, and copy all of it.',
};
/** Against the reasons that another token of the same issuer would have, too. */
const ASK_FOR: Readonly<Record<string, string>> = {
  issuer: 'Ask an issuer of OAUTH_ISSUER for the token, or add its exact iss there.',
  client: 'If this client may call, add it to OAUTH_CLIENTS.',
  'too-long': 'Have the issuer put less into it, such as fewer groups.',
};

const NEEDED = ['configuration', 'database', 'role', 'contents', 'issuer'];
const GIVEN = ['API key', 'access token'];
type Finding = readonly [state: 'ok' | 'warning' | 'fault', text: string, remedy?: string];

export const doctor = command({
  summary: 'checks configuration, database and issuer, and says what to do',
  run: async () => {
    const lines: string[] = [];
    const faults = new Set<string>();
    /** A check that fails is a fault, and the others go on. */
    const examine = async (subject: string, check: () => Promise<Finding>) => {
      const [state, text, remedy = REMEDIES[subject] ?? FIRST] = await check().catch(
        (error): Finding => ['fault', messageOf(error).replace(/\n[ -]*/g, ' ')],
      );
      lines.push(`${state.padEnd(7)}  ${subject.padEnd(13)}  ${text}`);
      if (state !== 'ok') lines.push(`${' '.repeat(24)}→ ${remedy}`);
      if (state === 'fault') faults.add(subject);
    };
    const given = await givenCredentials();
    await examine('configuration', examineConfiguration);
    for (const [subject, check] of Object.entries(DATABASE))
      if (!faults.has('database')) await examine(subject, () => withDatabase(check));
    for (const key of given.filter((one) => !one.includes('.')))
      if (!faults.has('database') && !faults.has('role'))
        await examine('API key', () => withDatabase((client) => examineKey(client, key)));
    if (!faults.has('configuration')) {
      const configuration = readConfiguration(process.env);
      for (const name of configuration.OAUTH_ISSUER)
        await examine('issuer', () => examineIssuer(name, configuration));
      for (const token of given.filter((one) => one.includes('.')))
        await examine('access token', () => examineToken(token, configuration));
    }
    const causes = NEEDED.filter((subject) => faults.has(subject)).join(', ');
    const refused = GIVEN.filter((subject) => faults.has(subject)).join(', ');
    const answered = causes ? `not answered. Correct ${causes}` : 'answered';
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
  const lines = (await readAll(stdin).catch(() => '')).match(/\S.*\S/g) ?? [];
  return lines.map((line) => line.replace(/^((authorization|api-key): *)?(bearer +)?(?=\S)/i, ''));
}

async function examineConfiguration(): Promise<Finding> {
  const configuration = readConfiguration(process.env);
  const warnings = [configuration.warnings ?? [], transportWarning(configuration) ?? []].flat();
  return [warnings.length > 0 ? 'warning' : 'ok', 'complete', warnings.join('; ')];
}

const SERVER = `select format('PostgreSQL %s, database %s, role %s', current_setting('server_version'), current_database(), current_user)`;
const KEYS_IN_FORCE = `select id::text from public.api_key where ${KEY_STATE} in ('in force', 'ends')`;
const DATABASE: Record<string, Parameters<typeof withDatabase<Finding>>[0]> = {
  async database(client) {
    const [text = ''] = await columnOf(client, SERVER);
    return ['ok', text];
  },
  async migrations(client) {
    const { pending, gone } = await readState(client);
    if (pending.length > 0)
      return ['fault', `pending: ${pending.join(', ')}`, `As the owner: ${typed('migrate', 'up')}`];
    if (gone.length > 0) return ['warning', gone.join(' '), 'Is it a newer release?'];
    return ['ok', 'all applied'];
  },
  async role(client) {
    const { rows } = await client.query<{ unread: string | null; writes: boolean; role: string }>(
      `select current_user as role, string_agg(name, ', ') filter (where not has_table_privilege('public.' || name, 'select')) as unread,
        bool_or(has_table_privilege('public.' || name, 'insert, update, delete, truncate')) as writes
       from unnest(array['revision', 'area_property', 'code_list_value', 'communication_code', 'api_key']) as name`,
    );
    const { role, unread, writes } = rows[0] ?? {};
    const grant = `As the owner: grant select on ${unread} to ${role};`;
    if (unread) return ['fault', `${role} may not read ${unread}`, grant];
    const text = `${role} may read all that the service needs`;
    if (writes) return ['warning', `${text}, and may write too`, 'Right for migrations alone.'];
    return ['ok', text];
  },
  async contents(client, manager) {
    const { values, records } = await readCodes(manager);
    const { length } = await columnOf(client, KEYS_IN_FORCE);
    const text = `${values.length} values, ${records.length} communication codes, ${length} API keys in force`;
    return [length > 0 ? 'ok' : 'warning', text, ISSUE];
  },
  async objects(client) {
    const faults = await objectFaults(client);
    if (faults.length === 0) return ['ok', 'all are what the migrations made'];
    const text = faults.map(({ name, fault }) => `${name} ${fault}`).join(', ');
    return ['fault', text, ['As the owner:', ...faults.map(({ remedy }) => remedy)].join('\n')];
  },
};

async function examineKey(client: Client, key: string): Promise<Finding> {
  const { rows } = await client.query<Record<'key' | 'state', string>>(
    `select format('%s of %s', id, client) as key, ${KEY_STATE} as state from public.api_key where key_hash = decode($1, 'hex')`,
    [hashApiKey(key)],
  );
  const { key: found, state } = rows[0] ?? {};
  if (state === 'expired' || state === 'ended') return ['fault', `${found} has ${state}`];
  if (found) return ['ok', `${found} is in force`];
  if (hasValidChecksum(key)) return ['fault', 'it is not in this database'];
  return ['fault', 'its checksum does not fit: it is mistyped or cut'];
}

async function keysOf(issuer: string, configuration: Configuration) {
  const given = configuration.OAUTH_JWKS_URI[configuration.OAUTH_ISSUER.indexOf(issuer)];
  const address = given || (await discover(issuer, configuration)).jwks_uri;
  return { address, keySet: await fetchKeySet(address) };
}

async function examineIssuer(name: string, configuration: Configuration): Promise<Finding> {
  const { address, keySet } = await keysOf(name, configuration);
  const { length } = keySet.jwks.keys;
  const text = `${name}: ${length} signing keys at ${address}`;
  return [length > 0 ? 'ok' : 'fault', text, 'It has to publish keys (RFC 7517).'];
}

async function examineToken(token: string, configuration: Configuration): Promise<Finding> {
  const decoded = tokens.decodeToken(token);
  if ('reason' in decoded) {
    const text = `it has ${token.split('.').length} parts and ${token.length} bytes; a signed JWT of 3 parts and at most ${tokens.MAX_TOKEN_BYTES} bytes is needed`;
    return ['fault', text, ASK_FOR[decoded.reason]];
  }
  const { header, claims } = decoded;
  const shown = 'alg typ kid iss aud client_id azp appid cid exp nbf iat'.split(' ');
  const held = `it holds ${JSON.stringify({ ...claims, ...header }, shown).slice(0, 500)}`;
  const reason = tokens.faultOf(decoded, configuration);
  if (reason) return ['fault', `refused for the reason "${reason}": ${held}`, ASK_FOR[reason]];
  const keys = await keysOf(`${claims.iss}`, configuration).catch(() => undefined);
  if (!keys) return ['ok', 'its signature was not checked: there are no keys of its issuer'];
  if (!(await isSigned(token, keys.keySet)))
    return ['fault', `no key of its issuer verifies its signature: ${held}`];
  const { OAUTH_REQUIRED_SCOPE: scope } = configuration;
  if (scope && !tokens.hasScope(claims, scope))
    return ['fault', `it lacks the scope ${scope}: 403`];
  return ['ok', `it passes until ${new Date(Number(claims.exp) * 1000).toISOString()}`];
}
