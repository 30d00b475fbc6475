// The issuer of test-kubernetes.mjs, in a pod with the service's image. It gives everybody a token.
import { generateKeyPairSync, sign } from 'node:crypto';
import { createServer } from 'node:http';
import process from 'node:process';

const [, , iss, aud] = process.argv;
const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const kidAndAlg = { kid: 'test', alg: 'ES256' };
const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');

function token() {
  const iat = Math.floor(Date.now() / 1000);
  const claims = { iss, aud, sub: 'test', client_id: 'test', iat, exp: iat + 7200 }; // longer than a run
  const text = `${encode({ ...kidAndAlg, typ: 'at+jwt' })}.${encode(claims)}`;
  const key = { key: privateKey, dsaEncoding: 'ieee-p1363' };
  return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`;
}

const answers = {
  '/.well-known/openid-configuration': () => ({ issuer: iss, jwks_uri: `${iss}/jwks` }),
  '/jwks': () => ({ keys: [{ ...publicKey.export({ format: 'jwk' }), ...kidAndAlg }] }),
  '/token': () => ({ access_token: token() }),
};
const answer = ({ url }, response) => response.end(JSON.stringify(answers[url]?.() ?? {}));
createServer(answer).listen(Number(new URL(iss).port));
// No network policy lets the service reach this port. test-kubernetes.mjs tries it, to see if policies are enforced
createServer(answer).listen(9999);
