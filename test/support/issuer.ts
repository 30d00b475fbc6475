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

export async function createSigningKey(alg: string, kid: string): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
}

/** Makes one key of each kind. An issuer begins with such keys. */
export async function createSigningKeys(): Promise<SigningKey[]> {
  return [
    await createSigningKey('RS256', 'rsa-1'),
    await createSigningKey('ES256', 'ec-1'),
    await createSigningKey('EdDSA', 'ed-1'),
  ];
}

/** Encodes a header or claims as a part of a token. */
export function encodePart(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}

/** A kilobyte that becomes more than 1 MiB when it is decompressed. The service reads at most 1 MiB of an answer. */
const BOMB = gzipSync(`{"keys":[]}${' '.repeat(1024 ** 2)}`);

/** The faulty ways in which the issuer answers a request for its key set. */
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
 * `held`: an answer has the key set of the time of its request, but waits until the test calls `release`.
 * `silent metadata`: the issuer answers only requests for the key set at its first address.
 */
export type Fault = 'none' | 'held' | 'silent metadata' | keyof typeof FAULTS;
/** The faults with which a request waits until its client gives up, or until the test calls `release`. */
const HOLDING_BACK: readonly Fault[] = ['slow', 'drip', 'held'];

interface TokenParts {
  /** Members of the header that replace the usual ones. Undefined leaves a member out. */
  header?: Record<string, unknown>;
  /** Claims that replace the usual ones. Undefined leaves a claim out. */
  claims?: Record<string, unknown>;
  key?: SigningKey;
}

/**
 * An OAuth 2.0 issuer for tests, with real HTTP and real keys. A test can choose a fault. A token is valid unless the
 * test replaces a part of it.
 */
export class Issuer {
  /** The number of requests for each path. */
  readonly hits = new Map<string, number>();
  /** The times of requests for the key set at any address, by the monotonic clock. The fault `down` adds no time. */
  readonly keySetHitsMs: number[] = [];
  fault: Fault = 'none';
  published: JWK[];
  /** The key sets of the issuer's nodes, which answer one after the other. Empty if all have the set `published`. */
  nodes: JWK[][] = [];
  /** Members of the metadata that replace the usual ones. */
  metadata: Record<string, string> = {};
  private heldBackCount = 0;
  /** Answers that wait for `release`. */
  private readonly held: (() => void)[] = [];
  private hasMoved = false;
  /** The key set with which the old address still answers after `move`. */
  private keysAtOldAddress: JWK[] | undefined;

  private constructor(
    private readonly server: Server,
    readonly url: string,
    readonly keys: SigningKey[],
  ) {
    this.published = keys.map(({ jwk }) => jwk);
    server.on('request', (request, response) => this.answer(request, response));
  }

  /** @param keys the keys of the issuer. Pass them if you start many issuers: it takes long to make a key for RSA */
  static async start(keys?: readonly SigningKey[]): Promise<Issuer> {
    const ownKeys = [...(keys ?? (await createSigningKeys()))];
    const server = createServer({ keepAliveTimeout: 0 }); // otherwise an idle connection of a slow client is closed
    const port = await listen(server.unref()); // otherwise Jest would not end if all tests of a file are skipped
    return new Issuer(server, `http://127.0.0.1:${port}`, ownKeys);
  }

  get environment(): Record<string, string> {
    return { OAUTH_ISSUER: this.url, OAUTH_AUDIENCE: AUDIENCE };
  }

  /** The number of requests for the key set at its first address, also of those without an answer. */
  get jwksHits(): number {
    return this.hits.get('/jwks') ?? 0;
  }

  /** True while the issuer keeps back the answer to a request. */
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
      exp: now + 8 * 3600, // 8 hours, because a slow machine takes long for the tests of a file
      jti: Math.random().toString(36).slice(2),
    };
  }

  async createToken({ header = {}, claims = {}, key = this.signer }: TokenParts = {}): Promise<string> {
    const members = { alg: key.alg, kid: key.kid, typ: 'at+jwt', ...header };
    return new SignJWT({ ...this.claims, ...claims }).setProtectedHeader(members).sign(key.privateKey);
  }

  /** The key that signs tokens, unless a test names another key. */
  get signer(): SigningKey {
    return this.keys[0] as SigningKey;
  }

  /** Returns the newest key of this issuer for an algorithm. */
  findKey(alg: string): SigningKey {
    const key = this.keys.find((each) => each.alg === alg);
    if (!key) throw new Error(`the issuer has no key for ${alg}`);
    return key;
  }

  /** Publishes a new key, which signs all tokens from now on. */
  async rotate(kid: string, { keepOld = true } = {}): Promise<SigningKey> {
    const key = await createSigningKey('ES256', kid);
    this.keys.unshift(key);
    this.published = keepOld ? [key.jwk, ...this.published] : [key.jwk];
    return key;
  }

  /** Publishes the key set at another address. The old address keeps the old key set if `isOldLeft`, else has none. */
  move({ isOldLeft = true } = {}): void {
    this.hasMoved = true;
    this.keysAtOldAddress = isOldLeft ? this.published : undefined;
  }

  /** Gives the answers that the fault `held` has kept back. */
  release(): void {
    for (const answer of this.held.splice(0)) answer();
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => void this.server.close(resolve));
    this.server.closeAllConnections(); // after `close`: otherwise a connection that comes between the calls stays open
    await closed;
  }

  private answer({ url = '' }: IncomingMessage, response: ServerResponse): void {
    this.hits.set(url, (this.hits.get(url) ?? 0) + 1);
    if (this.fault === 'down') FAULTS.down(response);
    else if (this.fault === 'silent metadata' && url !== '/jwks') this.countUntilClosed(response);
    else if (url === '/.well-known/openid-configuration') sendJson(response, this.allMetadata);
    else if (url === '/token') void this.answerToken(response);
    else if (url === '/elsewhere')
      sendJson(response, { keys: this.published }); // the target of the redirect
    else if (url.endsWith('/jwks')) this.answerKeySet(url, response);
    else response.writeHead(404).end();
  }

  private answerKeySet(url: string, response: ServerResponse): void {
    this.keySetHitsMs.push(performance.now());
    const keySets = this.nodes.length > 0 ? this.nodes : [this.published];
    const keys = [...(keySets[this.keySetHitsMs.length % keySets.length] ?? [])];
    if (url === '/jwks' && this.keysAtOldAddress) sendJson(response, { keys: this.keysAtOldAddress });
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
    const token = await this.createToken();
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
