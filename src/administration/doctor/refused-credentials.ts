// Explains why the service refuses an API key or an access token that somebody gives to the doctor. No message contains
// a part of a key, or a part of a token that would be enough for a call.
import { text as readAll } from 'node:stream/consumers';
import { API_KEY_PREFIX, hasValidChecksum, hashApiKey } from '../../auth/api-keys/api-key.js';
import { MAX_TOKEN_BYTES, type UnverifiedToken, hasScope, readToken } from '../../auth/access-token.js';
import { verifyToken } from '../../auth/access-tokens.service.js';
import { discover } from '../../auth/issuers/discovery.js';
import { fetchJson } from '../../auth/issuers/fetch-json.js';
import {
  ALGORITHMS,
  type SigningKeys,
  readKeys,
  selectDecidingMembers,
  toSigningKeys,
} from '../../auth/issuers/signing-keys.js';
import type { RefusalReason } from '../../auth/verdict.js';
import type { Configuration } from '../../configuration/configuration.js';
import type { Session } from '../../database/session.js';
import { formatCommandLine } from '../cli/program.js';
import { KEY_STATE } from '../keys.js';
import { type CheckResult, fault, ok, warning } from './check-result.js';

/** Texts in front of a credential, if somebody has copied the whole header field of a request. */
const AUTHORIZATION = /^authorization: */i;
const API_KEY_HEADER = /^api-key: */i;
const SCHEME = /^bearer +/i;

export interface GivenCredentials {
  readonly keys: readonly string[];
  readonly tokens: readonly string[];
}

/** Reads one credential from each line. A credential is a token if its line has `Authorization:`, `Bearer` or a dot. */
export async function readGivenCredentials(input: NodeJS.ReadableStream): Promise<GivenCredentials> {
  const keys: string[] = [];
  const tokens: string[] = [];
  for (const line of (await readAll(input)).split('\n')) {
    const header = line.trim();
    const value = header.replace(AUTHORIZATION, '').replace(API_KEY_HEADER, '');
    const credential = value.replace(SCHEME, '');
    const isToken = AUTHORIZATION.test(header) || SCHEME.test(value) || credential.includes('.');
    if (credential !== '') (isToken ? tokens : keys).push(credential);
  }
  return { keys, tokens };
}

const FIND_KEY = `
  select id::text, client, ${KEY_STATE} as state from public.api_key where key_hash = decode($1, 'hex')`;

interface FoundKey {
  readonly id: string;
  readonly client: string;
  readonly state: string;
}

export async function checkApiKey(session: Session, key: string): Promise<CheckResult> {
  const { rows } = await session.query<FoundKey>(FIND_KEY, [hashApiKey(key)]);
  const [found] = rows;
  if (!found) return explainUnknownKey(key);
  const name = `${found.id} of ${found.client}`;
  const isRefused = found.state === 'expired' || found.state === 'revoked';
  if (isRefused) return fault(`${name} is ${found.state}`, `Issue a new key: ${issueCommand()}`);
  return ok(`${name} is valid`);
}

function explainUnknownKey(key: string): CheckResult {
  const remedy = `Copy the whole key, or issue one: ${issueCommand()}`;
  const text = 'it is not in this database';
  const isOurs = key.startsWith(API_KEY_PREFIX);
  if (!isOurs) return fault(text, `${remedy}. If it is an access token, only its issuer can read it. ${OPAQUE_REMEDY}`);
  if (!hasValidChecksum(key)) return fault('its checksum does not fit: it is mistyped or cut', remedy);
  return fault(text, remedy);
}

function issueCommand(): string {
  return formatCommandLine('keys', 'issue --client NAME');
}

/** The remedies for opaque and for encrypted tokens. docs/identity-providers.md names more providers. */
const OPAQUE_REMEDY =
  'Auth0: name the audience of your API when you ask for the token. Okta: ask an authorization server of your own, ' +
  'not that of the organization. Keycloak issues only JWTs: send the access_token of its token endpoint.';
const ENCRYPTED_REMEDY =
  'Auth0: switch off JSON Web Encryption of the API. Okta: switch off Access Token Encryption of the authorization ' +
  'server. Keycloak encrypts only ID tokens: send the access_token of its token endpoint.';
const ASK_FOR_TOKEN = 'Ask the issuer for an access token of OAUTH_AUDIENCE, and copy all of it.';
/** The remedies by reason. A reason without an entry has ASK_FOR_TOKEN, except `not-a-jwt` (`describeFormFault`). */
const TOKEN_REMEDIES: Readonly<Partial<Record<RefusalReason, string>>> = {
  'too-long': 'Have the issuer put less into the token, such as fewer groups.',
  algorithm: `Have the issuer sign access tokens by one of ${ALGORITHMS.join(', ')}.`,
  critical: 'Have the issuer leave crit and b64 out of the header.',
  type: 'An access token has the typ at+jwt, JWT or none. If OAUTH_TOKEN_TYPE is at+jwt, only at+jwt is accepted.',
  issuer: 'Ask an issuer of OAUTH_ISSUER for the token, or add the exact iss of this token to OAUTH_ISSUER.',
  client: 'If this client may call, add it to OAUTH_CLIENTS.',
  'another-kind':
    'If it is an ID, refresh or logout token, send the access token that the issuer gave with it. If it is an access ' +
    'token, it names neither its client nor a scope: docs/identity-providers.md says what to set at the issuer.',
  'no-expiry': 'Have the issuer write into the token when it expires (exp, in seconds since 1970).',
  expired: 'Ask the issuer for another token. If that token is expired, too, correct the clock: see the line "clock".',
  'not-before': 'Correct the clock of this machine (see the line "clock") or the clock of the issuer.',
  signature:
    'Copy the whole token, or ask the issuer for a new one: its signing key may have been withdrawn. A token of ' +
    'Entra ID with a nonce in its header is for Microsoft Graph: ask for the scope of your own API. If use, key_ops ' +
    "or alg of the published key do not allow the token's alg, the issuer's team has to correct the key.",
  'unknown-key': 'Copy the whole token, or ask the issuer for a new one: its signing key may have been withdrawn.',
};

/** The members of a token that messages show. Nobody can call with them, and unlike `sub` they name no person. */
const SHOWN_HEADER_MEMBERS = ['alg', 'typ', 'kid', 'nonce'];
const SHOWN_CLAIMS = 'iss, aud, client_id, azp, appid, cid, scope, scp, typ, token_use, exp, nbf, iat'.split(', ');
const MAX_CHARACTERS_OF_MEMBERS = 500;

export async function checkAccessToken(
  text: string,
  configuration: Configuration,
  issuerKeys = new IssuerKeys(configuration),
): Promise<CheckResult> {
  const read = readToken(text);
  if (read.outcome !== 'accepted') return describeFormFault(text, read.reason);
  const token = read.value;
  const issuer = configuration.OAUTH_ISSUER.find((name) => name === token.claims.iss);
  if (issuer === undefined) return describeClaimFault(token, 'issuer');
  const keys = await tryToFetchKeys(issuer, issuerKeys);
  if (!keys) {
    const remedy = 'Correct the issuer first, then check the token again.';
    return warning('it was not checked: there are no keys of its issuer', remedy);
  }
  const verdict = await verifyToken(token, keys, issuer, configuration);
  if (verdict.outcome !== 'accepted') return describeClaimFault(token, verdict.reason, keys);
  const { OAUTH_REQUIRED_SCOPE: scope } = configuration;
  if (scope && !hasScope(verdict.value, scope)) {
    const remedy = `Have the issuer grant ${scope} to this client, and ask for it with the token.`;
    return fault(`it lacks the scope ${scope}, so the service answers 403`, remedy);
  }
  return ok(`it passes until ${new Date(verdict.value.exp * 1000).toISOString()}`);
}

interface FetchedKeys {
  readonly address: string;
  readonly keys: SigningKeys;
}

/** Fetches the keys of each issuer only once, because an issuer that hangs costs the whole time limit of a fetch. */
export class IssuerKeys {
  private readonly fetched = new Map<string, Promise<FetchedKeys>>();

  constructor(private readonly configuration: Configuration) {}

  /** Asks all issuers at the same time, so that the doctor waits only once if several issuers hang. */
  askAll(): void {
    // A failure is ignored here, because the check of this issuer calls `fetch`, too, and gets the same error
    for (const issuer of this.configuration.OAUTH_ISSUER) this.fetch(issuer).catch(() => undefined);
  }

  /** @throws IssuerFault if the issuer gives no key set */
  async fetch(issuer: string): Promise<FetchedKeys> {
    const fetched = this.fetched.get(issuer) ?? this.fetchNow(issuer);
    this.fetched.set(issuer, fetched);
    return fetched;
  }

  private async fetchNow(issuer: string): Promise<FetchedKeys> {
    const { OAUTH_ISSUER, OAUTH_JWKS_URI } = this.configuration;
    // OAUTH_JWKS_URI has one address for each issuer. If the address is empty, the issuer's metadata names it
    const configured = OAUTH_JWKS_URI[OAUTH_ISSUER.indexOf(issuer)];
    const address = configured || (await discover(issuer, this.configuration)).jwks_uri;
    const keys = readKeys(address, await fetchJson(address));
    return { address, keys: await toSigningKeys(keys) };
  }
}

/** Returns the keys, or undefined if they cannot be fetched. `checkIssuer` (doctor.ts) reports the reason. */
async function tryToFetchKeys(issuer: string, issuerKeys: IssuerKeys): Promise<SigningKeys | undefined> {
  try {
    const { keys } = await issuerKeys.fetch(issuer);
    return keys;
  } catch {
    return undefined;
  }
}

function describeFormFault(text: string, reason: RefusalReason): CheckResult {
  if (reason === 'too-long') {
    const sentence = `it has ${text.length} bytes; a token of at most ${MAX_TOKEN_BYTES} bytes is needed`;
    return fault(sentence, TOKEN_REMEDIES[reason] ?? ASK_FOR_TOKEN);
  }
  if (reason === 'critical') return fault('its header has crit or b64', TOKEN_REMEDIES[reason] ?? ASK_FOR_TOKEN);
  const isEncrypted = text.split('.').length === 5; // a JWE has five parts
  if (reason === 'not-a-jwt' && isEncrypted) {
    return fault('it is encrypted (JWE), so only the owner of the decryption key can read it', ENCRYPTED_REMEDY);
  }
  const isCut = text.startsWith('eyJ'); // most JWTs begin with `{"` and a letter, which is eyJ… in base64url
  if (reason === 'not-a-jwt' && isCut) return fault('it is a JWT that was cut', ASK_FOR_TOKEN);
  if (reason === 'not-a-jwt') return fault('it is opaque, not a JWT: only its issuer can read it', OPAQUE_REMEDY);
  return fault('its header, claims or signature is not in base64url, or its claims are not JSON', ASK_FOR_TOKEN);
}

/** Shows only the first characters of header and claims, because a claim may contain a list of any length. */
function describeClaimFault(
  { header, claims }: UnverifiedToken,
  reason: RefusalReason,
  keys?: SigningKeys,
): CheckResult {
  const isSignatureWrong = reason === 'signature' || reason === 'unknown-key';
  const sentence = isSignatureWrong
    ? `no key of its issuer verifies its signature${describePublished(header.kid, keys)}`
    : `refused for the reason "${reason}"`;
  const shown = { header: pick(header, SHOWN_HEADER_MEMBERS), claims: pick(claims, SHOWN_CLAIMS) };
  const members = JSON.stringify(shown).slice(0, MAX_CHARACTERS_OF_MEMBERS);
  return fault(`${sentence}: it contains ${members}`, TOKEN_REMEDIES[reason] ?? ASK_FOR_TOKEN);
}

/** Shows the published key that the token names. A wrong `use`, `key_ops` or `alg` of this key may be the fault. */
function describePublished(keyId: unknown, keys?: SigningKeys): string {
  const published = keys?.document.keys.filter(({ kid }) => kid !== undefined && kid === keyId) ?? [];
  if (published.length === 0) return '';
  const members = JSON.stringify(published.map(selectDecidingMembers)).slice(0, MAX_CHARACTERS_OF_MEMBERS);
  return ` (the key is published as ${members})`;
}

function pick(members: object, names: readonly string[]): Record<string, unknown> {
  const picked = Object.entries(members).filter(([name]) => names.includes(name));
  return Object.fromEntries(picked);
}
