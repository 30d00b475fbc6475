import { types } from 'node:util';

/** The reason why an answer of an issuer cannot be used, and what to do about it. */
export class IssuerFault extends Error {
  constructor(
    readonly found: string,
    readonly remedy: string,
    /** The HTTP status, if the status is the fault; `timeout` if the whole answer did not come in time. */
    readonly status?: number | 'timeout',
  ) {
    super(`${found}. ${remedy}`);
  }
}

interface Explanation {
  readonly codes: RegExp;
  readonly found: string;
  readonly remedy: string;
}

export const NETWORK_REMEDY =
  'Let the service reach this address (firewall, network policy). If only a proxy can reach the address, set ' +
  'NODE_USE_ENV_PROXY=1 and HTTPS_PROXY';
const BROKEN_REMEDY = "The issuer's team has to correct its server, or the proxy or balancer in front of it";
const CERTIFICATE_CLOCK_REMEDY =
  'If its dates are right, the clock of this machine is wrong: compare date -u with the real time';

/** Errors of Node.js and OpenSSL. The first row that matches the code is used. issuer-fault.spec.ts has examples. */
const EXPLANATIONS: readonly Explanation[] = [
  {
    codes: /^ENOTFOUND$/,
    found: 'DNS does not know the host',
    remedy: 'Correct the host in OAUTH_ISSUER or OAUTH_JWKS_URI, or let the DNS of this machine resolve it',
  },
  {
    codes: /^EAI_/,
    found: 'the DNS server gives no answer',
    remedy: 'Let the service reach its DNS server (resolv.conf, network policy for port 53)',
  },
  {
    codes: /^ECONNREFUSED$/,
    found: 'the connection was refused: nothing listens at this port',
    remedy:
      'Start the issuer, or correct host and port. In a container, localhost is the container itself: set ' +
      'OAUTH_JWKS_URI to an address that the container can reach',
  },
  { codes: /^(EHOST|ENET|EADDRNOTAVAIL)/, found: 'there is no route to the host', remedy: NETWORK_REMEDY },
  { codes: /^ETIMEDOUT$/, found: 'no connection within the time limit', remedy: NETWORK_REMEDY },
  {
    codes: /^UNABLE_TO_VERIFY_LEAF_SIGNATURE$/,
    found: 'the server sends no intermediate certificate, and the CA that has signed its certificate is not known here',
    remedy:
      'Have the server send the whole chain (such as fullchain.pem): a root in NODE_EXTRA_CA_CERTS does not replace ' +
      'the chain. Only if a private CA has signed the certificate directly, name the file of that CA in ' +
      'NODE_EXTRA_CA_CERTS',
  },
  {
    codes: /^(UNABLE_TO_GET_ISSUER|SELF_SIGNED_CERT_IN_CHAIN)/,
    found: "this machine does not know the root CA of the server's certificate",
    remedy:
      'Name the file of the root CA in NODE_EXTRA_CA_CERTS. If a firewall or proxy replaces certificates, name the ' +
      'CA of that firewall or proxy',
  },
  {
    codes: /^DEPTH_ZERO_SELF_SIGNED_CERT$/,
    found: 'the certificate of the server is self-signed',
    remedy: 'Name the file of this certificate in NODE_EXTRA_CA_CERTS, or give the server a certificate of a CA',
  },
  {
    codes: /^CERT_HAS_EXPIRED$/,
    found: 'the certificate of the server has expired',
    remedy: `The issuer's team has to renew it. ${CERTIFICATE_CLOCK_REMEDY}`,
  },
  {
    codes: /^CERT_NOT_YET_VALID$/,
    found: 'the certificate of the server is not valid yet',
    remedy: `The issuer's team has to replace it. ${CERTIFICATE_CLOCK_REMEDY}`,
  },
  {
    codes: /^ERR_TLS_CERT_ALTNAME_INVALID$/,
    found: 'the certificate of the server is for another host',
    remedy: 'Use a host that the certificate names, or have the server send a certificate for this host',
  },
  {
    codes: /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH|HTTP_REQUEST)/,
    found: 'the port does not speak TLS',
    remedy: 'Correct the port, or let the issuer speak https there',
  },
  {
    codes: /NO_APPLICATION_PROTOCOL/,
    found: 'the server speaks HTTP/2 only',
    remedy: 'Have the issuer, or the proxy in front of it, also speak HTTP/1.1',
  },
  {
    codes: /CERTIFICATE_REQUIRED|BAD_CERTIFICATE/,
    found: 'the server demands a certificate of its client',
    remedy: 'Key sets are public: have the server ask for no client certificate at this address',
  },
  {
    codes: /^(ERR_SSL_|ERR_TLS_|EPROTO|CERT_|UNABLE_|INVALID_|CRL_|HOSTNAME_)/,
    found: 'TLS failed',
    remedy: `${BROKEN_REMEDY}: TLS 1.2 or 1.3 and a certificate with a modern signature are needed`,
  },
  {
    // Z_DATA_ERROR of gzip, ERR__ERROR_FORMAT_… and ERR_PADDING_… of brotli, ERR_ZSTD_…
    codes: /^(Z_|ERR_(_ERROR|_FORMAT|BROTLI|ZSTD|PADDING))/,
    found: 'the body is not compressed as the header content-encoding says',
    remedy: BROKEN_REMEDY,
  },
  {
    codes: /^HPE_HEADER_OVERFLOW$/,
    found: 'the headers of the answer have more than 16 KiB',
    remedy: 'Have the issuer, or the proxy in front of it, send fewer or shorter headers, such as cookies',
  },
  { codes: /^HPE_/, found: 'the answer is not HTTP/1.1', remedy: BROKEN_REMEDY },
  {
    codes: /^(ECONNRESET|EPIPE|ECONNABORTED)$/,
    found: 'the connection was closed before the whole answer was there',
    remedy:
      'See the log of the issuer or of a proxy in between. At an http address: does the port speak https? At an https ' +
      'address: does it demand a client certificate?',
  },
];

/** Explains an error by its code. Keep the text the same at each attempt: each new text becomes a line of the log. */
export function explainFetchError(address: string, error: unknown): IssuerFault {
  const message = types.isNativeError(error) ? error.message : String(error);
  const code = findCode(error, message);
  if (code === 'ERR_PROXY_TUNNEL') {
    const remedy = 'Have the proxy of HTTPS_PROXY let this host through, or name the host in NO_PROXY';
    return new IssuerFault(`${address}: the proxy refuses the connection (${message})`, remedy);
  }
  const explanation = EXPLANATIONS.find(({ codes }) => codes.test(code));
  if (!explanation) {
    return new IssuerFault(`${address}: ${[message, code].filter(Boolean).join(', ')}`, BROKEN_REMEDY);
  }
  return new IssuerFault(`${address}: ${explanation.found} (${code})`, explanation.remedy);
}

/**
 * Returns the code. If a TLS handshake fails, the code is often EPROTO, and only the message has OpenSSL's reason.
 * `…:SSL routines:ssl3_get_record:wrong version number:…` then gives ERR_SSL_WRONG_VERSION_NUMBER.
 */
function findCode(error: unknown, message: string): string {
  const { code = '' } = Object(error) as NodeJS.ErrnoException;
  const reason = code === 'EPROTO' ? /:SSL routines:[^:]*:([^:]+):/.exec(message)?.[1] : undefined;
  return reason === undefined ? code : `ERR_SSL_${reason.replaceAll(' ', '_').toUpperCase()}`;
}

export function explainStatus(address: string, status: number, location?: string): IssuerFault {
  if (status >= 300 && status < 400) {
    const target = describeRedirectTarget(address, location);
    const remedy =
      'A redirect is not followed. If the target is an address of the issuer, configure the target; if it is a ' +
      'sign-in page, have this address answer without a sign-in';
    return new IssuerFault(`${address} redirects (status ${status}) to ${target}`, remedy, status);
  }
  return new IssuerFault(`${address} answers with status ${status}`, findStatusRemedy(status), status);
}

/** Returns the target without its query, which may contain a secret. */
function describeRedirectTarget(address: string, location: string | undefined): string {
  if (location === undefined || !URL.canParse(location, address)) return 'no address';
  const { origin, pathname } = new URL(location, address);
  return origin + pathname;
}

function findStatusRemedy(status: number): string {
  if (status === 404 || status === 410) {
    return 'OAUTH_ISSUER has to be exactly the iss of the tokens. If the metadata is elsewhere, set OAUTH_JWKS_URI';
  }
  if (status === 407) return 'The proxy demands credentials: put them into HTTPS_PROXY, or name the host in NO_PROXY';
  if (status === 401 || status === 403) {
    return 'Have the issuer, or the firewall in front of it, answer at this address without credentials';
  }
  if (status === 429) {
    // The numbers are REFRESH_INTERVAL_MS and RETRY_INTERVAL_MS of key-set.ts
    return 'Have the issuer allow more requests: each replica asks every 35 s, and every 5 s after a failure';
  }
  if (status >= 500) return "The issuer, or the gateway in front of it, fails: call the issuer's team";
  return 'Status 200 is needed: correct the address, or the issuer';
}
