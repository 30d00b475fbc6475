import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SignJWT, exportSPKI, importJWK, type CryptoKey } from 'jose';
import { type SigningKey, signingKey } from '../support/issuer.js';
import { expectProblem } from '../support/problem.js';
import { ALL_PATHS, PATHS } from '../support/paths.js';
import { World } from '../support/world.js';

let world: World;
let stranger: SigningKey;
let hits = 0;
const elsewhere = createServer((_request, response) => {
  hits++;
  response.end(JSON.stringify({ keys: [stranger.jwk] }));
});

beforeAll(async () => {
  stranger = await signingKey('RS256', 'stranger');
  await new Promise<void>((resolve) => void elsewhere.listen(0, '127.0.0.1', resolve));
  world = await World.create();
});
afterAll(async () => {
  elsewhere.close();
  await world?.close();
});

const now = (): number => Math.floor(Date.now() / 1000);
const base64 = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
const elsewhereUrl = (): string =>
  `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/jwks`;
const spoil = async (header: Record<string, unknown>, signature?: string): Promise<string> => {
  const [, payload, original] = (await world.issuer.token()).split('.');
  return `${base64({ alg: 'RS256', kid: 'rsa-1', typ: 'at+jwt', ...header })}.${payload}.${signature ?? original}`;
};
const resigned = async (
  header: Record<string, unknown>,
  key: SigningKey = world.issuer.signer,
): Promise<string> =>
  new SignJWT({ ...world.issuer.claims })
    .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: 'at+jwt', ...header })
    .sign(key.privateKey, { crit: { 'urn:x': true } });

/** A token that must be refused: the same 401 on every operation, and no byte of it anywhere. */
async function expectRefused(authorization: string, { invalidToken = true } = {}): Promise<void> {
  for (const path of ALL_PATHS) {
    const reply = await world.get(path, { headers: { Authorization: authorization } });
    const { issues } = expectProblem(reply, 'invalid-credentials');
    expect(issues).toEqual([
      {
        description: 'Authorization holds no valid access token.',
        field: 'Authorization',
        location: 'header',
      },
    ]);
    const error = invalidToken ? ', error="invalid_token"' : '';
    expect(reply.headers.get('www-authenticate')).toBe(
      `ApiKey realm="order-lookup-services", header="Api-Key", Bearer realm="order-lookup-services"${error}`,
    );
    const token = authorization.split(' ').at(-1) ?? '';
    if (token.length > 20)
      expect(`${reply.text}${world.service.output}`).not.toContain(token.slice(-20));
  }
}

describe('an access token is accepted', () => {
  it.each<[string, () => Promise<string>]>([
    ['as Bearer', async () => `Bearer ${await world.issuer.token()}`],
    ['as bearer', async () => `bearer ${await world.issuer.token()}`],
    ['as BEARER with two spaces', async () => `BEARER  ${await world.issuer.token()}`],
    ['bare', () => world.issuer.token()],
    [
      'signed with ES256',
      async () => `Bearer ${await world.issuer.token({ key: world.issuer.keys[1] })}`,
    ],
    [
      'signed with EdDSA',
      async () => `Bearer ${await world.issuer.token({ key: world.issuer.keys[2] })}`,
    ],
    [
      'of the type JWT',
      async () => `Bearer ${await world.issuer.token({ header: { typ: 'JWT' } })}`,
    ],
    [
      'of the type application/at+jwt',
      async () => `Bearer ${await world.issuer.token({ header: { typ: 'application/at+jwt' } })}`,
    ],
    [
      'without a type',
      async () => `Bearer ${await world.issuer.token({ header: { typ: undefined } })}`,
    ],
    [
      'with our audience among others',
      async () =>
        `Bearer ${await world.issuer.token({ claims: { aud: ['https://other.example', 'https://orders.example'] } })}`,
    ],
    [
      'expired 20 seconds ago: within the skew',
      async () => `Bearer ${await world.issuer.token({ claims: { exp: now() - 20 } })}`,
    ],
    [
      'not valid for 20 seconds: within the skew',
      async () =>
        `Bearer ${await world.issuer.token({ claims: { nbf: now() + 20, iat: now() + 20 } })}`,
    ],
    [
      'without iat and nbf',
      async () =>
        `Bearer ${await world.issuer.token({ claims: { iat: undefined, nbf: undefined } })}`,
    ],
    [
      'as Keycloak sends it',
      async () =>
        `Bearer ${await world.issuer.token({ header: { typ: 'JWT' }, claims: { typ: 'Bearer', azp: 'x', nonce: 'n', scope: 'openid', auth_time: now() } })}`,
    ],
  ])('%s', async (_name, authorization) => {
    for (const path of ALL_PATHS)
      expect(
        (await world.get(path, { headers: { Authorization: await authorization() } })).status,
      ).toBe(200);
  });
});

describe('an access token is refused', () => {
  it.each<[string, () => Promise<string> | string]>([
    ...['none', 'None', 'NONE', 'nOnE', ''].map((alg): [string, () => Promise<string>] => [
      `with alg ${alg}`,
      () => spoil({ alg }, ''),
    ]),
    ['with alg none and a signature', () => spoil({ alg: 'none' })],
    ['without alg', () => spoil({ alg: undefined })],
    ...['RS384', 'PS256', 'ES256', 'EdDSA', 'HS256', 'RS1', 'RSA-OAEP'].map(
      (alg): [string, () => Promise<string>] => [`relabelled ${alg}`, () => spoil({ alg })],
    ),
    ['with an empty signature', () => spoil({}, '')],
    ['with a cut signature', async () => (await world.issuer.token()).slice(0, -8)],
    ['with a longer signature', async () => `${await world.issuer.token()}AAAA`],
    [
      'with the signature of another token',
      async () => spoil({}, (await world.issuer.token({ claims: { sub: 'other' } })).split('.')[2]),
    ],
    [
      'with a changed payload',
      async () =>
        (await world.issuer.token()).replace(
          /\.[^.]+\./,
          `.${base64({ ...world.issuer.claims, sub: 'admin' })}.`,
        ),
    ],
    ['signed by a stranger, with an unknown kid', () => world.issuer.token({ key: stranger })],
    [
      'signed by a stranger under our key id',
      () => world.issuer.token({ key: stranger, header: { kid: 'rsa-1' } }),
    ],
    [
      'without kid, where several keys are published',
      () => world.issuer.token({ header: { kid: undefined } }),
    ],
    [
      'with the kid of a key of another kind',
      () => world.issuer.token({ header: { kid: 'ec-1' } }),
    ],
    [
      'with a kid that is a path',
      () => world.issuer.token({ header: { kid: '../../etc/passwd' } }),
    ],
    ['with a kid that is SQL', () => world.issuer.token({ header: { kid: `' or 1=1 --` } })],
    ['with a kid that is a number', () => spoil({ kid: 7 })],
    ['with a kid that is a list', () => spoil({ kid: ['rsa-1'] })],
    [
      'with a kid of 5,000 characters',
      () => world.issuer.token({ header: { kid: 'x'.repeat(5_000) } }),
    ],
    ['with jku', () => resigned({ jku: elsewhereUrl(), kid: 'stranger' }, stranger)],
    ['with x5u', () => resigned({ x5u: elsewhereUrl(), kid: 'stranger' }, stranger)],
    ['with jwk', () => resigned({ jwk: stranger.jwk, kid: 'stranger' }, stranger)],
    ['with jwk under our key id', () => resigned({ jwk: stranger.jwk, kid: 'rsa-1' }, stranger)],
    ['with x5c', () => resigned({ x5c: ['MIIB'], kid: 'stranger' }, stranger)],
    ['with crit', () => resigned({ crit: ['urn:x'], 'urn:x': true })],
    ['with an empty crit', () => spoil({ crit: [] })],
    ['with b64', () => spoil({ b64: true })],
    ['with b64 false', () => spoil({ b64: false, crit: ['b64'] })],
    ...['id_token', 'logout+jwt', 'dpop+jwt', 'rt+jwt', 'JOSE', 'secevent+jwt', 7].map(
      (typ): [string, () => Promise<string>] => [
        `of the type ${typ}`,
        () => (typeof typ === 'string' ? world.issuer.token({ header: { typ } }) : spoil({ typ })),
      ],
    ),
    [
      'that is an ID token: at_hash',
      () => world.issuer.token({ header: { typ: 'JWT' }, claims: { at_hash: 'x', nonce: 'n' } }),
    ],
    [
      'that is an ID token: c_hash',
      () => world.issuer.token({ header: { typ: 'JWT' }, claims: { c_hash: 'x' } }),
    ],
    [
      'that is an ID token: nonce',
      () =>
        world.issuer.token({
          header: { typ: 'JWT' },
          claims: { nonce: 'n', client_id: undefined },
        }),
    ],
    [
      'that is an ID token for the client',
      () => world.issuer.token({ header: { typ: 'JWT' }, claims: { aud: 'client' } }),
    ],
    ...['ID', 'Refresh', 'Offline', 'Logout'].map((typ): [string, () => Promise<string>] => [
      `that says it is ${typ} (Keycloak)`,
      () => world.issuer.token({ claims: { typ } }),
    ]),
    ...['id', 'refresh'].map((use): [string, () => Promise<string>] => [
      `that is for use as ${use} (Cognito)`,
      () => world.issuer.token({ claims: { token_use: use } }),
    ]),
    [
      'that is a logout token',
      () =>
        world.issuer.token({
          claims: { events: { 'http://schemas.openid.net/event/backchannel-logout': {} } },
        }),
    ],
    ['of two parts', async () => (await world.issuer.token()).split('.').slice(0, 2).join('.')],
    ['of four parts', async () => `${await world.issuer.token()}.x`],
    ['of five parts (JWE)', () => `${base64({ alg: 'RSA-OAEP', enc: 'A256GCM' })}.a.b.c.d`],
    [
      'nested',
      async () =>
        `${base64({ alg: 'RS256', cty: 'JWT', kid: 'rsa-1' })}.${base64(await world.issuer.token())}.x`,
    ],
    ['that is no JSON', () => `${base64('not json')}.${base64('{}')}.x`],
    ['whose header is a list', () => `${base64([])}.${base64('{}')}.x`],
    ['over 8 KiB', () => world.issuer.token({ claims: { padding: 'x'.repeat(8_200) } })],
    ['with other characters', async () => `${await world.issuer.token()}!`],
    ['with white space inside', async () => (await world.issuer.token()).replace('.', '. ')],
    ...[
      undefined,
      '',
      'https://orders.exampl',
      'https://orders.example/',
      'https://orders.example.evil',
      'HTTPS://ORDERS.EXAMPLE',
      [],
      ['other'],
      7,
      null,
    ].map((aud): [string, () => Promise<string>] => [
      `with the audience ${JSON.stringify(aud)}`,
      () => world.issuer.token({ claims: { aud } }),
    ]),
    ...['', '/', 'x'].map((suffix): [string, () => Promise<string>] => [
      `with the issuer followed by "${suffix}"`,
      () =>
        world.issuer.token({
          claims: { iss: suffix === '' ? undefined : world.issuer.url + suffix },
        }),
    ]),
    [
      'with a prefix of the issuer',
      () => world.issuer.token({ claims: { iss: world.issuer.url.slice(0, -1) } }),
    ],
    [
      'with a list that holds the issuer',
      () => world.issuer.token({ claims: { iss: [world.issuer.url] } }),
    ],
    ...[undefined, null, '9999999999', 1e308, -1, {}, true].map(
      (exp): [string, () => Promise<string>] => [
        `with exp ${JSON.stringify(exp)}`,
        () => world.issuer.token({ claims: { exp } }),
      ],
    ),
    ['expired 31 seconds ago', () => world.issuer.token({ claims: { exp: now() - 31 } })],
    ['expired long ago', () => world.issuer.token({ claims: { exp: 1 } })],
    ['not valid for another minute', () => world.issuer.token({ claims: { nbf: now() + 60 } })],
    ['with nbf as text', () => world.issuer.token({ claims: { nbf: '0' } })],
    ['issued in a minute', () => world.issuer.token({ claims: { iat: now() + 60 } })],
    ['with iat as text', () => world.issuer.token({ claims: { iat: 'now' } })],
  ])('%s', async (_name, token) => {
    await expectRefused(`Bearer ${await token()}`);
  });

  it('keyed with our public key as a secret, in every encoding', async () => {
    const { jwk } = world.issuer.signer;
    const pem = await exportSPKI((await importJWK(jwk, 'RS256')) as CryptoKey);
    const der = Buffer.from(pem.replaceAll(/-----.*-----|\s/g, ''), 'base64');
    const [, payload] = (await world.issuer.token()).split('.');
    for (const secret of [
      pem,
      pem.trim(),
      pem.replaceAll('\n', '\r\n'),
      der,
      der.toString('base64'),
      JSON.stringify(jwk),
      JSON.stringify({ keys: [jwk] }),
      String(jwk.n),
      Buffer.from(String(jwk.n), 'base64url'),
      '',
    ]) {
      for (const [alg, digest] of [
        ['HS256', 'sha256'],
        ['HS384', 'sha384'],
        ['HS512', 'sha512'],
      ] as const) {
        const content = `${base64({ alg, kid: 'rsa-1', typ: 'at+jwt' })}.${payload}`;
        await expectRefused(
          `Bearer ${content}.${createHmac(digest, secret).update(content).digest('base64url')}`,
        );
      }
    }
  });

  it.each(['Basic dXNlcjpwYXNz', 'Token abc', 'Digest username="x"', 'DPoP abc', 'Negotiate abc'])(
    'under another scheme: %s',
    async (authorization) => {
      await expectRefused(authorization, { invalidToken: false });
    },
  );

  it('without any request to the addresses that a token names', () => {
    expect(hits).toBe(0);
  });

  it('with at most one fetch of the key set for all unknown key ids', () => {
    const minutes = Math.ceil(performance.now() / 60_000); // the service itself asks once a minute
    expect(world.issuer.jwksHits).toBeLessThanOrEqual(2 + minutes);
  });
});

describe('a token that is warm in the cache', () => {
  it('is accepted until it expires, and never after', async () => {
    const ask = async (token: string): Promise<number> =>
      (await world.get(PATHS.orderUpdate, { headers: { Authorization: `Bearer ${token}` } }))
        .status;
    let exp: number;
    let token: string;
    do {
      exp = now() - 27; // with the skew of 30 s it has three seconds left
      token = await world.issuer.token({ claims: { exp } });
    } while ((await ask(token)) !== 200); // where the machine was away for so long
    let refused = 0;
    while (refused < 100) {
      const before = Date.now() / 1000;
      const status = await ask(token);
      if (before >= exp + 30) expect(status).toBe(401);
      if (Date.now() / 1000 < exp + 30) expect(status).toBe(200);
      if (status === 401) refused++;
      else expect(refused).toBe(0);
    }
  });
});
