import { AccessTokensService } from '../../auth/access-tokens/access-tokens.service.js';
import {
  MAX_KID_CHARACTERS,
  type UnverifiedToken,
  decodeToken,
  isDate,
} from '../../auth/access-tokens/token-faults.js';
import { ALGORITHMS, type KeySet } from '../../auth/issuers/key-set.js';
import type { RefusalReason } from '../../auth/verdict.js';
import type { Configuration } from '../../configuration/configuration.js';
import { Metrics } from '../../telemetry/metrics.js';
import { type Finding, fault, ok } from './finding.js';

const SUBJECT = 'access token';

/** Checks a token with the service's own verifier, and gives the reason if it is refused. The service itself never tells a caller the reason. */
export async function examineToken(
  token: string,
  configuration: Configuration,
  keySets: ReadonlyMap<unknown, KeySet>,
): Promise<Finding> {
  const issuers = {
    get: (name: unknown) => {
      const keys = keySets.get(name);
      return keys && { keys, lookFor: () => Promise.resolve(true) };
    },
  };
  const verdict = await new AccessTokensService(configuration, issuers, new Metrics()).verify(
    `Bearer ${token}`,
    'doctor',
  );
  if (verdict.kind === 'refused') {
    const decoded = decodeToken(token);
    const explain = (decoded && explanations[verdict.reason]) ?? explainForm;
    const keys = keySets.get(decoded?.claims.iss);
    return fault(SUBJECT, ...explain({ token, configuration, keys, ...decoded }));
  }
  if (verdict.kind !== 'valid')
    return fault(
      SUBJECT,
      'the keys of its issuer are not available',
      'Correct the faults above first.',
    );
  const { expiresAt, isInScope } = verdict.holder;
  const { OAUTH_REQUIRED_SCOPE: scope } = configuration;
  return isInScope
    ? ok(SUBJECT, `it passes, for another ${inWords(expiresAt - Date.now() / 1000)}`)
    : fault(
        SUBJECT,
        `it lacks the scope ${scope}: 403`,
        `Have the issuer grant ${scope} to the client, and ask for it.`,
      );
}

type Examined = Partial<UnverifiedToken> & {
  readonly token: string;
  readonly configuration: Configuration;
  readonly keys: KeySet | undefined;
};
type Explanation = (examined: Examined) => [said: string, remedy: string];

const explainForm: Explanation = ({ token }) => {
  const parts = token.split('.').length;
  return parts === 3
    ? [
        'its header or its claims are not JSON in base64url',
        'Copy the whole token, from access_token.',
      ]
    : [
        `it has ${parts} part${parts === 1 ? '' : 's'}, a signed one has 3`,
        'The issuer gave an opaque or encrypted token: have it issue JWT access tokens for OAUTH_AUDIENCE.',
      ];
};

const explainDate =
  (name: 'nbf' | 'iat'): Explanation =>
  ({ claims: { [name]: date } = {} }) => [
    `its ${name} is ${isDate(date) ? `${inWords(date - Date.now() / 1000)} ahead` : said(date)}`,
    'Set the clocks of both machines by NTP.',
  ];

const explanations: Partial<Record<RefusalReason, Explanation>> = {
  algorithm: ({ header }) => [
    `its algorithm is ${said(header?.alg)}`,
    `Have the issuer sign with an asymmetric one: ${ALGORITHMS.join(', ')}.`,
  ],
  critical: () => ['its header has crit or b64', 'Have the issuer leave them out.'],
  'key-id': ({ header }) => [
    `its key id is ${said(header?.kid)}`,
    `Have the issuer give its keys names of at most ${MAX_KID_CHARACTERS} characters.`,
  ],
  type: ({ header, configuration }) => [
    `its typ is ${said(header?.typ)}`,
    configuration.OAUTH_TOKEN_TYPE
      ? 'OAUTH_TOKEN_TYPE demands at+jwt.'
      : 'Send the access token: at+jwt or JWT.',
  ],
  issuer: ({ claims, configuration: { OAUTH_ISSUER } }) => [
    `its iss is ${said(claims?.iss)}, OAUTH_ISSUER is ${OAUTH_ISSUER.map(said).join(', ')}`,
    'They have to be equal to the last character.',
  ],
  audience: ({ claims, configuration: { OAUTH_AUDIENCE } }) => [
    `its aud is ${said(claims?.aud)}, without OAUTH_AUDIENCE ${said(OAUTH_AUDIENCE)}`,
    'Have the issuer put it in: an audience mapper in Keycloak, resource or audience elsewhere.',
  ],
  'no-expiry': ({ claims }) => [
    `its exp is ${said(claims?.exp)}`,
    'Have the issuer put a date in: seconds since 1970.',
  ],
  expired: ({ claims: { exp = 0 } = {} }) => [
    `it expired ${inWords(Date.now() / 1000 - exp)} ago`,
    'Ask for a new one.',
  ],
  'not-before': explainDate('nbf'),
  'issued-at': explainDate('iat'),
  'another-kind': () => [
    'it is an ID, refresh or logout token',
    'Send access_token of the same answer.',
  ],
  'unknown-key': ({ header, keys }) =>
    header?.kid === undefined
      ? ['it names no key, and the issuer has several', 'Have the issuer put kid into the header.']
      : [
          `its key id is ${said(header.kid)}, the issuer has ${[...(keys?.kids ?? [])].join(', ')}`,
          'It is of another issuer, or its key was withdrawn: ask for a new one.',
        ],
  signature: () => [
    'the signature does not fit the key that it names',
    'Request a new one, and copy the whole token.',
  ],
};

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
