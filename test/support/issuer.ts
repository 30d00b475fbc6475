import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import { gzipSync } from 'node:zlib';
import { type CryptoKey, type JWK, type JWTPayload, SignJWT, exportJWK, generateKeyPair } from 'jose';
import { listen } from './ports.js';

export const AUDIENCE = 'https://orders.example';

export interface SigningKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly jwk: JWK;
}

export async function signingKey(alg: string, kid: string): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
}

/** One of each kind, as an issuer has them at its start. */
export async function signingKeys(): Promise<SigningKey[]> {
  return [await signingKey('RS256', 'rsa-1'), await signingKey('ES256', 'ec-1'), await signingKey('EdDSA', 'ed-1')];
}

/** A header, or claims, as a token has them. */
export function encodePart(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}

/** More than the 1 MiB that is read of an answer, in a kilobyte. */
const BOMB = gzipSync(`{"keys":[]}${' '.repeat(1024 ** 2)}`);

/** How the key set is answered. */
const FAULTS = {
  down: (response: ServerResponse) => response.destroy(),
  slow: () => undefined,
  drip: (response: ServerResponse) => response.writeHead(200).write('{'),
  'status 500': (response: ServerResponse) => response.writeHead(500).end('{}'),
  endless: (response: ServerResponse) => {
    response.writeHead(200).write('{"keys":[]}');
    const more = (closed?: Error | null): void => {
      if (!closed) response.write(' '.repeat(65_536), more);
    };
    more();
  },
  bomb: (response: ServerResponse) => response.writeHead(200, { 'Content-Encoding': 'gzip' }).end(BOMB),
  html: (response: ServerResponse) => response.end('<html>sign in</html>'),
  'empty set': (response: ServerResponse) => response.end('{"keys":[]}'),
  redirect: (response: ServerResponse) => response.writeHead(302, { Location: '/elsewhere' }).end(),
};
/**
 * `held`: the key set is answered, as it is now, when the test calls `release`. `silent metadata`: the key set is
 * answered, and the metadata are not.
 */
export type Fault = 'none' | 'held' | 'silent metadata' | keyof typeof FAULTS;
/** With these a request waits until its client gives up, or the test releases it. */
const HOLDING_BACK: readonly Fault[] = ['slow', 'drip', 'held'];

interface TokenParts {
  /** Members of the header; undefined leaves one out. */
  header?: Record<string, unknown>;
  /** Claims; undefined leaves one out. */
  claims?: Record<string, unknown>;
  key?: SigningKey;
}

/**
 * A stand-in for an OAuth 2.0 issuer: real HTTP, real keys, faults on demand. Tokens are valid by default; each test
 * spoils one thing.
 */
export class Issuer {
  readonly hits = new Map<string, number>();
  fault: Fault = 'none';
  published: JWK[];
  /** The key sets that its nodes give in turn, if they differ. */
  nodes: JWK[][] = [];
  /** Members of the metadata that differ. */
  metadata: Record<string, string> = {};
  private heldBackCount = 0;
  /** Answers that wait for `release`. */
  private readonly held: (() => void)[] = [];
  private hasMoved = false;
  /** The key set that the old address still answers, after `move`. */
  private left: JWK[] | undefined;

  private constructor(
    private readonly server: Server,
    readonly url: string,
    readonly keys: SigningKey[],
  ) {
    this.published = keys.map(({ jwk }) => jwk);
    server.on('request', (request, response) => this.answer(request, response));
  }

  /** @param keys where many issuers are started: a key for RSA takes a long time to make */
  static async start(keys?: readonly SigningKey[]): Promise<Issuer> {
    const ownKeys = [...(keys ?? (await signingKeys()))];
    const server = createServer({ keepAliveTimeout: 0 }); // a slow client would ask when its connection is closed
    return new Issuer(server, `http://127.0.0.1:${await listen(server)}`, ownKeys);
  }

  get environment(): Record<string, string> {
    return { OAUTH_ISSUER: this.url, OAUTH_AUDIENCE: AUDIENCE };
  }

  /** Fetches of the key set so far. */
  get jwksHits(): number {
    return this.hits.get('/jwks') ?? 0;
  }

  /** When the key set was asked for, in milliseconds of the monotonic clock. */
  readonly keySetHitsMs: number[] = [];

  /** Whether a request for the key set waits for an answer that does not come. */
  get isHoldingBack(): boolean {
    return this.heldBackCount > 0;
  }

  get claims(): JWTPayload {
    const now = Math.floor(Date.now() / 1000);
    return {
      iss: this.url,
      aud: AUDIENCE,
      sub: 'tester',
      client_id: 'tests',
      iat: now,
      exp: now + 8 * 3600, // a slow machine takes long for the tests of a file
      jti: Math.random().toString(36).slice(2),
    };
  }

  async token({ header = {}, claims = {}, key = this.signer }: TokenParts = {}): Promise<string> {
    const members = { alg: key.alg, kid: key.kid, typ: 'at+jwt', ...header };
    return new SignJWT({ ...this.claims, ...claims }).setProtectedHeader(members).sign(key.privateKey);
  }

  /** The key that tokens are signed with unless a test says otherwise. */
  get signer(): SigningKey {
    return this.keys[0] as SigningKey;
  }

  /** The newest of its keys for this algorithm. */
  findKey(alg: string): SigningKey {
    const key = this.keys.find((each) => each.alg === alg);
    if (!key) throw new Error(`the issuer has no key for ${alg}`);
    return key;
  }

  /** Publishes a new key and signs with it from now on. */
  async rotate(kid: string, { keepOld = true } = {}): Promise<SigningKey> {
    const key = await signingKey('ES256', kid);
    this.keys.unshift(key);
    this.published = keepOld ? [key.jwk, ...this.published] : [key.jwk];
    return key;
  }

  /** Publishes a key set at another address. The old one goes on to answer what it did, or 404. */
  move({ isOldLeft = true } = {}): void {
    this.hasMoved = true;
    this.left = isOldLeft ? this.published : undefined;
  }

  /** Gives the answers that were held. */
  release(): void {
    for (const answer of this.held.splice(0)) answer();
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => void this.server.close(resolve));
    this.server.closeAllConnections(); // afterwards: a connection that arrived in between would never be closed
    await closed;
  }

  private answer({ url = '' }: IncomingMessage, response: ServerResponse): void {
    this.hits.set(url, (this.hits.get(url) ?? 0) + 1);
    if (this.fault === 'down') FAULTS.down(response);
    else if (this.fault === 'silent metadata' && url !== '/jwks') this.countUntilClosed(response);
    else if (url === '/.well-known/openid-configuration') sendJson(response, this.allMetadata);
    else if (url === '/token') void this.answerToken(response);
    else if (url === '/elsewhere')
      sendJson(response, { keys: this.published }); // where a redirect leads
    else if (url.endsWith('/jwks')) this.answerKeySet(url, response);
    else response.writeHead(404).end();
  }

  private answerKeySet(url: string, response: ServerResponse): void {
    this.keySetHitsMs.push(performance.now());
    const node = this.nodes[this.keySetHitsMs.length % this.nodes.length];
    const keys = [...(node ?? this.published)];
    if (url === '/jwks' && this.left) sendJson(response, { keys: this.left });
    else if (url === '/jwks' && this.hasMoved) response.writeHead(404).end();
    else if (this.fault === 'none' || this.fault === 'silent metadata') sendJson(response, { keys });
    else this.spoil(response, this.fault);
  }

  private spoil(response: ServerResponse, fault: Exclude<Fault, 'none' | 'silent metadata'>): void {
    if (HOLDING_BACK.includes(fault)) this.countUntilClosed(response);
    if (fault === 'held') {
      const keys = [...this.published];
      this.held.push(() => sendJson(response, { keys }));
      return;
    }
    FAULTS[fault](response);
  }

  private countUntilClosed(response: ServerResponse): void {
    this.heldBackCount += 1;
    response.once('close', () => {
      this.heldBackCount -= 1;
    });
  }

  private async answerToken(response: ServerResponse): Promise<void> {
    const token = await this.token();
    sendJson(response, { access_token: token, expires_in: 600, token_type: 'Bearer' });
  }

  private get allMetadata() {
    const folder = this.hasMoved ? '/moved' : '';
    return {
      issuer: this.url,
      jwks_uri: `${this.url}${folder}/jwks`,
      authorization_endpoint: `${this.url}/auth`,
      token_endpoint: `${this.url}/token`,
      ...this.metadata,
    };
  }
}

function sendJson(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}
