import { type JWTHeaderParameters, type JWTPayload, decodeJwt, decodeProtectedHeader } from 'jose';
import {
  CLOCK_SKEW_SECONDS,
  isAccessTokenType,
  isAnotherKind,
  isDate,
} from '../../auth/access-tokens/access-token.js';
import { AccessTokensService } from '../../auth/access-tokens/access-tokens.service.js';
import { ALGORITHMS, type KeySet } from '../../auth/issuers/key-set.js';
import type { Configuration } from '../../configuration/configuration.js';
import { type Finding, fault, ok } from './finding.js';

const SUBJECT = 'access token';

/** Whether a token passes, by the service's own verifier; if not, why, in words that the service itself tells nobody. */
export async function examineToken(
  token: string,
  configuration: Configuration,
  keys: KeySet,
): Promise<Finding> {
  const jwks = { current: keys, lookFor: () => Promise.resolve() };
  const verdict = await new AccessTokensService(configuration, jwks).verify(`Bearer ${token}`);
  const { OAUTH_REQUIRED_SCOPE: scope } = configuration;
  if (verdict.kind !== 'valid') {
    const reasons = reasonsAgainst(token, configuration, keys);
    return (
      reasons[0] ??
      fault(
        SUBJECT,
        'the signature does not fit the key that it names',
        'Ask the issuer for a new one; take it over whole.',
      )
    );
  }
  const { expiresAt, isInScope } = verdict.holder;
  if (!isInScope)
    return fault(
      SUBJECT,
      `it lacks the scope ${scope}: 403`,
      `Have the issuer grant ${scope} to the client, and ask for it.`,
    );
  return ok(SUBJECT, `it passes, for another ${inWords(expiresAt - Date.now() / 1000)}`);
}

function reasonsAgainst(token: string, configuration: Configuration, keys: KeySet): Finding[] {
  const parts = token.split('.').length;
  if (parts !== 3)
    return [
      fault(
        SUBJECT,
        `it has ${parts} part${parts === 1 ? '' : 's'}, a signed one has 3`,
        'The issuer gave an opaque or encrypted token: have it issue JWT access tokens for OAUTH_AUDIENCE.',
      ),
    ];
  try {
    const header = decodeProtectedHeader(token) as JWTHeaderParameters;
    return [
      ...faultsOfHeader(header, configuration, keys),
      ...faultsOfClaims(decodeJwt(token), configuration),
    ];
  } catch {
    return [
      fault(
        SUBJECT,
        'its header or its claims are not JSON in base64url',
        'Take the token over whole, from access_token.',
      ),
    ];
  }
}

function* faultsOfHeader(
  header: JWTHeaderParameters,
  { OAUTH_TOKEN_TYPE }: Configuration,
  keys: KeySet,
): Generator<Finding> {
  const { alg, kid, typ } = header;
  if (!ALGORITHMS.includes(alg))
    yield fault(
      SUBJECT,
      `its algorithm is ${said(alg)}`,
      `Have the issuer sign with an asymmetric one: ${ALGORITHMS.join(', ')}.`,
    );
  if ('crit' in header || 'b64' in header)
    yield fault(SUBJECT, 'its header has crit or b64', 'Have the issuer leave them out.');
  if (!isAccessTokenType(header, OAUTH_TOKEN_TYPE))
    yield fault(
      SUBJECT,
      `its typ is ${said(typ)}`,
      OAUTH_TOKEN_TYPE
        ? 'OAUTH_TOKEN_TYPE demands at+jwt.'
        : 'Send the access token: at+jwt or JWT.',
    );
  if (kid !== undefined && !keys.kids.has(kid))
    yield fault(
      SUBJECT,
      `its key id is ${said(kid)}, the issuer has ${[...keys.kids].join(', ')}`,
      'It is of another issuer, or its key was withdrawn: ask for a new one.',
    );
  if (kid === undefined && keys.fingerprintOf(kid) === undefined)
    yield fault(
      SUBJECT,
      'it names no key, and the issuer has several',
      'Have the issuer put kid into the header.',
    );
}

function* faultsOfClaims(
  claims: JWTPayload,
  { OAUTH_ISSUER, OAUTH_AUDIENCE }: Configuration,
): Generator<Finding> {
  const { iss, aud, exp, nbf, iat } = claims;
  const now = Date.now() / 1000;
  if (iss !== OAUTH_ISSUER)
    yield fault(
      SUBJECT,
      `its iss is ${said(iss)}, OAUTH_ISSUER is ${said(OAUTH_ISSUER)}`,
      'They have to be equal to the last character.',
    );
  if (![aud].flat().includes(OAUTH_AUDIENCE))
    yield fault(
      SUBJECT,
      `its aud is ${said(aud)}, without OAUTH_AUDIENCE ${said(OAUTH_AUDIENCE)}`,
      'Have the issuer put it in: an audience mapper in Keycloak, resource or audience elsewhere.',
    );
  if (!isDate(exp))
    yield fault(
      SUBJECT,
      `its exp is ${said(exp)}`,
      'Have the issuer put a date in: seconds since 1970.',
    );
  else if (now >= exp + CLOCK_SKEW_SECONDS)
    yield fault(SUBJECT, `it expired ${inWords(now - exp)} ago`, 'Ask for a new one.');
  for (const [name, value] of Object.entries({ nbf, iat }))
    if (value !== undefined && !(isDate(value) && value <= now + CLOCK_SKEW_SECONDS))
      yield fault(
        SUBJECT,
        `its ${name} is ${isDate(value) ? `${inWords(value - now)} ahead` : said(value)}`,
        'Set the clocks of both machines by NTP.',
      );
  if (isAnotherKind(claims))
    yield fault(
      SUBJECT,
      'it is an ID, refresh or logout token',
      'Send access_token of the same answer.',
    );
}

const said = (value: unknown): string =>
  value === undefined ? 'missing' : JSON.stringify(value).slice(0, 200);

function inWords(seconds: number): string {
  const [unit, size] = (
    [
      ['day', 86_400],
      ['hour', 3_600],
      ['minute', 60],
    ] as const
  ).find(([, length]) => seconds >= 2 * length) ?? ['second', 1];
  const count = Math.round(seconds / size);
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}
