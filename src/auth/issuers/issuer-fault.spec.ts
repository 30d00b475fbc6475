import { expect, it } from '@jest/globals';
import { explainFetchError, explainStatus } from './issuer-fault.js';
import { REFRESH_INTERVAL_MS, RETRY_INTERVAL_MS } from './key-set.js';

const ADDRESS = 'https://a/jwks';
const INTERVALS = `every ${REFRESH_INTERVAL_MS / 1000} s, and every ${RETRY_INTERVAL_MS / 1000} s after a failure`;

it.each([
  { code: 'ENOTFOUND', found: 'DNS does not know the host', remedy: 'Correct the host' },
  { code: 'EAI_AGAIN', found: 'the DNS server gives no answer', remedy: 'port 53' },
  { code: 'ECONNREFUSED', found: 'nothing listens', remedy: 'In a container, localhost is the container itself' },
  { code: 'EHOSTUNREACH', found: 'no route', remedy: 'network policy' },
  { code: 'ETIMEDOUT', found: 'no connection within the time limit', remedy: 'HTTPS_PROXY' },
  { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', found: 'no intermediate certificate', remedy: 'send the whole chain' },
  { code: 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY', found: 'does not know the root CA', remedy: 'the file of the root CA' },
  { code: 'SELF_SIGNED_CERT_IN_CHAIN', found: 'does not know the root CA', remedy: 'NODE_EXTRA_CA_CERTS' },
  { code: 'DEPTH_ZERO_SELF_SIGNED_CERT', found: 'is self-signed', remedy: 'the file of this certificate' },
  { code: 'CERT_HAS_EXPIRED', found: 'has expired', remedy: 'the clock of this machine is wrong' },
  { code: 'CERT_NOT_YET_VALID', found: 'is not valid yet', remedy: 'the clock of this machine is wrong' },
  { code: 'ERR_TLS_CERT_ALTNAME_INVALID', found: 'for another host', remedy: 'Use a host that the certificate names' },
  { code: 'ERR_SSL_WRONG_VERSION_NUMBER', found: 'does not speak TLS', remedy: 'Correct the port' },
  { code: 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL', found: 'speaks HTTP/2 only', remedy: 'HTTP/1.1' },
  { code: 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', found: 'demands a certificate', remedy: 'Key sets are public' },
  { code: 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', found: 'TLS failed', remedy: 'TLS 1.2 or 1.3' },
  { code: 'Z_DATA_ERROR', found: 'content-encoding', remedy: 'proxy or balancer' },
  { code: 'ERR__ERROR_FORMAT_PADDING_2', found: 'content-encoding', remedy: 'proxy or balancer' }, // of brotli
  { code: 'HPE_INVALID_CONSTANT', found: 'is not HTTP/1.1', remedy: 'proxy or balancer' },
  { code: 'HPE_HEADER_OVERFLOW', found: 'more than 16 KiB', remedy: 'fewer or shorter headers' },
  { code: 'ECONNRESET', found: 'the connection was closed', remedy: 'does the port speak https?' },
])('$code is explained: $found', ({ code, found, remedy }) => {
  const fault = explainFetchError(ADDRESS, Object.assign(new Error('the 7th attempt'), { code }));
  expect(fault.found).toContain(found);
  expect(fault.found).toContain(code);
  expect(fault.remedy).toContain(remedy);
  expect(fault.message).not.toContain('the 7th attempt'); // otherwise each attempt would have a new text, and be logged
});

it.each([
  {
    code: 'ERR_PROXY_TUNNEL',
    message: 'HTTP/1.1 403 Forbidden',
    found: 'the proxy refuses the connection (HTTP/1.1 403',
  },
  { code: undefined, message: 'something new', found: 'https://a/jwks: something new' },
])('the error "$message" is explained: $found', ({ code, message, found }) => {
  expect(explainFetchError(ADDRESS, Object.assign(new Error(message), { code })).found).toContain(found);
});

it('the remedy for an address that cannot be reached names the variables of a proxy', () => {
  const { remedy } = explainFetchError(ADDRESS, Object.assign(new Error('no'), { code: 'ETIMEDOUT' }));
  expect(remedy).toContain('set NODE_USE_ENV_PROXY=1 and HTTPS_PROXY');
});

it.each([
  { status: 401, remedy: 'without credentials' },
  { status: 403, remedy: 'without credentials' },
  { status: 404, remedy: 'OAUTH_ISSUER has to be exactly the iss' },
  { status: 407, remedy: 'The proxy demands credentials' },
  { status: 429, remedy: `allow more requests: each replica asks ${INTERVALS}` },
  { status: 503, remedy: "call the issuer's team" },
  { status: 204, remedy: 'Status 200 is needed' },
])('status $status has a remedy: $remedy', ({ status, remedy }) => {
  const fault = explainStatus(ADDRESS, status);
  expect(fault.found).toBe(`https://a/jwks answers with status ${status}`);
  expect(fault.remedy).toContain(remedy);
});

it('a redirect names its target without the query, which may contain a secret', () => {
  const { found } = explainStatus(ADDRESS, 302, '/sign-in?state=secret');
  expect(found).toBe('https://a/jwks redirects (status 302) to https://a/sign-in');
});
