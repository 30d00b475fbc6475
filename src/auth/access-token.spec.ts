import type { JWTPayload } from 'jose';
import { expect, it } from '@jest/globals';
import {
  MAX_TOKEN_BYTES,
  expiresBeforeYear10000,
  findClient,
  hasScope,
  hasAcceptedType,
  isOfAnotherKind,
  readToken,
} from './access-token.js';

const ACCESS_TOKEN: JWTPayload = { client_id: 'shop', scope: 'lookups.read' };
const isOtherWith = (claims: JWTPayload, typ = 'JWT') => isOfAnotherKind({ typ }, { ...ACCESS_TOKEN, ...claims });

it.each(['typ', 'token_use', 'tok_type', 'tokenType', 'tokenName', 'token_type', 'type'])(
  'a token is not an access token if its claim %s says ID, refresh, offline or logout',
  (name) => {
    for (const kind of ['id', 'ID', 'it', 'refresh', 'rt', 'Offline', 'logout', 'id_token', 'Refresh-Token'])
      expect({ kind, isOther: isOtherWith({ [name]: kind }) }).toEqual({ kind, isOther: true });
    // 7 is not a text, so it names no kind
    for (const kind of ['Bearer', 'access', 'at', 'access_token', 7])
      expect({ kind, isOther: isOtherWith({ [name]: kind }) }).toEqual({ kind, isOther: false });
  },
);

it.each(['at_hash', 'c_hash', 's_hash', 'events', 'granted_scopes', 'ati'])(
  'a token with the claim %s is not an access token, even if its type is at+jwt',
  (name) => {
    expect([isOtherWith({ [name]: 'x' }), isOtherWith({ [name]: 'x' }, 'at+jwt')]).toEqual([true, true]);
  },
);

it.each([
  { claims: { nonce: 'n' }, isOther: true },
  { claims: { azp: 'shop', nonce: 'n' }, isOther: true },
  { claims: { nonce: 'n', client_id: 'shop' }, isOther: false },
  { claims: { nonce: 'n', scope: 'a' }, isOther: false },
  { claims: { nonce: 'n', scp: 'a' }, isOther: false },
  { claims: { azp: 'shop', nonce: 'n', typ: 'Bearer' }, isOther: false },
  { claims: { azp: 'shop' }, isOther: false },
  { claims: { scp: ['a'] }, isOther: false },
  { claims: { scope: ' ' }, isOther: true }, // neither a client nor a scope
  { claims: { roles: ['a'] }, isOther: true }, // ID tokens may have roles, too
])('the type JWT and the claims $claims are refused as another kind of token: $isOther', ({ claims, isOther }) => {
  expect(isOfAnotherKind({ typ: 'JWT' }, claims)).toBe(isOther);
});

it('the client is read from client_id, else from azp, else from appid, else from cid', () => {
  const claims = { cid: '4', appid: '3', azp: '2', client_id: '1' };
  expect(findClient(claims)).toBe('1');
  expect(findClient({ ...claims, client_id: undefined })).toBe('2');
  expect(findClient({ cid: '4', appid: '3' })).toBe('3');
  expect(findClient({ cid: '4' })).toBe('4');
});

it('no client is found if client_id is empty or not a string, even if azp names a client', () => {
  for (const client_id of ['', 7, ['1']]) expect(findClient({ client_id, azp: '2' })).toBeUndefined();
});

it.each(['scope', 'scp', 'roles', 'permissions'])('a scope may be in %s, as a list or separated by spaces', (name) => {
  expect(hasScope({ [name]: 'a lookups.read b' }, 'lookups.read')).toBe(true);
  expect(hasScope({ [name]: ['a', 'lookups.read'] }, 'lookups.read')).toBe(true);
  expect(hasScope({ [name]: ['lookups.read b'] }, 'lookups.read')).toBe(false);
  expect(hasScope({ [name]: 'lookups.readers' }, 'lookups.read')).toBe(false);
});

it.each([
  { time: '9999-12-31T23:59:59Z', isAccepted: true },
  { time: '+010000-01-01T00:00:00Z', isAccepted: false },
])('a token may expire at $time: $isAccepted', ({ time, isAccepted }) => {
  expect(expiresBeforeYear10000({ exp: Date.parse(time) / 1000 })).toBe(isAccepted);
});

it.each([
  { typ: undefined, isAccepted: true },
  { typ: 'at+jwt', isAccepted: true },
  { typ: 'application/at+JWT', isAccepted: true },
  { typ: 'JWT', isAccepted: true },
  { typ: 'application/jwt', isAccepted: true },
  { typ: 'id+jwt', isAccepted: false },
  { typ: 'jwt2', isAccepted: false },
  { typ: 'xat+jwt', isAccepted: false },
])('an access token may have the type $typ: $isAccepted', ({ typ, isAccepted }) => {
  expect(hasAcceptedType(typ === undefined ? {} : { typ })).toBe(isAccepted);
});

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
const tokenOf = (header: object, signature = 'AAAA') => [encode(header), encode(ACCESS_TOKEN), signature].join('.');

it.each([
  { what: 'header, claims and signature', text: tokenOf({ alg: 'RS256' }), result: 'accepted' },
  { what: '12 KiB', text: tokenOf({ alg: 'RS256' }).padEnd(12_288, 'A'), result: 'accepted' },
  { what: 'more than 12 KiB', text: tokenOf({ alg: 'RS256' }).padEnd(12_289, 'A'), result: 'too-long' },
  { what: 'enc in its header', text: tokenOf({ alg: 'RS256', enc: 'x' }), result: 'not-a-jwt' },
  { what: 'crit in its header', text: tokenOf({ alg: 'RS256', crit: ['b64'] }), result: 'critical' },
  { what: 'b64 in its header', text: tokenOf({ alg: 'RS256', b64: true }), result: 'critical' },
  { what: 'no signature', text: tokenOf({ alg: 'none' }, ''), result: 'malformed' },
  { what: 'padding', text: tokenOf({ alg: 'RS256' }, 'AAA='), result: 'malformed' },
  { what: 'no header', text: 'opaque', result: 'not-a-jwt' },
])('a token with $what is read with the result $result', ({ text, result }) => {
  const read = readToken(text);
  expect(read.outcome === 'accepted' ? 'accepted' : read.reason).toBe(result);
});

it('the longest token has 12,288 bytes, as openapi.yaml and the pages say', () => {
  expect(MAX_TOKEN_BYTES).toBe(12_288);
});
