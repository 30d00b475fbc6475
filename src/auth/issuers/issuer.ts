import { isDeepStrictEqual } from 'node:util';
import { type JSONWebKeySet, type JWK, type JWTVerifyGetKey, createLocalJWKSet } from 'jose';
import { type CallerImpact, RepeatedFailure } from '../../telemetry/repeated-failure.js';
import type { ServiceLogger } from '../../telemetry/service-logger.js';
import { type IssuerMetadata, discover } from './discovery.js';
import { TIMEOUT_MS, fetchJson } from './fetch-json.js';

/**
 * Asymmetric algorithms only (RFC 8725 section 3.1). With a MAC the verifier could create signatures, and a public key
 * could be used as the secret.
 */
export const ALGORITHMS: readonly string[] = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];
/** The types of public keys for these algorithms (RFC 7518 section 6.1, RFC 8037 section 2). */
const PUBLIC_KEY_TYPES = ['RSA', 'EC', 'OKP'];

/**
 * So that a withdrawn key is refused within a minute, although two addresses of the metadata and then the keys may be
 * fetched one after the other.
 */
const REFRESH_INTERVAL_MS = 59_000 - 3 * TIMEOUT_MS;
/** The least time from a fetch to one for an unknown key, and to the next one of an issuer that has given no keys yet. */
const PAUSE_MS = 5_000;
/** Keys that were fetched longer ago are not used, even if the issuer does not answer. */
const MAX_AGE_SECONDS = 24 * 3_600;

export interface IssuerSettings {
  /** The exact `iss` of its tokens. */
  readonly name: string;
  /** The address of the key set, or undefined if the metadata of the issuer tell it. */
  readonly keySetAddress: string | undefined;
  readonly OAUTH_ALLOW_HTTP: boolean;
}

/**
 * The keys that an issuer published (RFC 7517 section 5). The object is never changed, only replaced when the issuer
 * publishes others, so a token that it has verified need not be verified again while its issuer has the same.
 */
export interface SigningKeys {
  readonly document: JSONWebKeySet;
  /** jose's function that finds the key which fits the header of a token. */
  readonly find: JWTVerifyGetKey;
}

/**
 * The signing keys of one issuer, fetched again and again, so that no token of a known key waits for it. While the
 * issuer does not answer, the keys that it gave last are used for a day.
 *
 * Issuers share nothing: an outage or a flood of tokens of one issuer never touches those of another.
 */
export class Issuer {
  private readMetadata: IssuerMetadata | undefined;
  private metadataError: unknown;
  private fetchedKeys: SigningKeys | undefined;
  /** By the monotonic clock, when the fetch began: the issuer may have changed its keys since. */
  private fetchedAtMs = -Infinity;
  private runningFetch: Promise<void> | undefined;
  private fetchEndedAtMs = -Infinity;
  private timer: NodeJS.Timeout | undefined;
  private isStopped = false;
  private readonly fetchFailure: RepeatedFailure;
  private readonly metadataFailure: RepeatedFailure;

  constructor(
    private readonly settings: IssuerSettings,
    private readonly logger: ServiceLogger,
  ) {
    this.fetchFailure = new RepeatedFailure(logger, `issuer ${settings.name}`);
    this.metadataFailure = new RepeatedFailure(logger, `metadata of issuer ${settings.name}`);
  }

  get name(): string {
    return this.settings.name;
  }

  /** Undefined until they were read, and where the issuer publishes none. */
  get metadata(): IssuerMetadata | undefined {
    return this.readMetadata;
  }

  /** The keys that verify tokens, or undefined if there are none yet or they are too old. Their list may be empty. */
  get keys(): SigningKeys | undefined {
    return this.secondsUntilTooOld > 0 ? this.fetchedKeys : undefined;
  }

  /** How many keys can verify a token now. If there are none, every token is refused. */
  get keyCount(): number {
    return this.keys ? countSigningKeys(this.keys.document) : 0;
  }

  /** Seconds since the keys were fetched; Infinity if they never were. */
  get ageSeconds(): number {
    return (performance.now() - this.fetchedAtMs) / 1000;
  }

  /** How long tokens can still be accepted if the issuer does not answer; 0 while none can be. */
  get secondsUntilRefusal(): number {
    return this.keyCount === 0 ? 0 : this.secondsUntilTooOld;
  }

  /** Fetches the keys now, and from then on again and again until `stop`. */
  async start(): Promise<void> {
    const reading = this.updateMetadata();
    if (this.settings.keySetAddress === undefined) await reading; // they tell the address of the key set
    await this.fetchKeys();
    if (this.isStopped) return;
    this.timer = setTimeout(() => void this.start(), this.keys ? REFRESH_INTERVAL_MS : PAUSE_MS).unref();
  }

  /** The timer fetches no more. A fetch that is under way comes to its end. */
  stop(): void {
    this.isStopped = true;
    clearTimeout(this.timer);
  }

  /**
   * Fetches the keys for a token of an unknown key, if the last fetch was long enough ago.
   * @returns the present keys, or undefined if the last fetch has failed: the issuer may have others
   */
  async findNewKeys(): Promise<SigningKeys | undefined> {
    const isAllowed = performance.now() >= this.fetchEndedAtMs + PAUSE_MS;
    if (this.runningFetch || isAllowed) await this.fetchKeys();
    return this.fetchFailure.failuresInARow > 0 ? undefined : this.keys;
  }

  /** Joins the fetch that is under way, or begins one. */
  private fetchKeys(): Promise<void> {
    this.runningFetch ??= this.fetchOnce().finally(() => {
      this.runningFetch = undefined; // in fetchOnce, which may end before it is assigned, it would stay for ever
    });
    return this.runningFetch;
  }

  /** Never throws: a failure is logged, and the former keys stay. */
  private async fetchOnce(): Promise<void> {
    const beganAtMs = performance.now();
    try {
      const address = this.settings.keySetAddress ?? this.readMetadata?.jwks_uri;
      if (address === undefined) throw new Error('the address of its keys is not known', { cause: this.metadataError });
      this.keysFetched(await fetchJson(address));
      this.fetchedAtMs = beganAtMs; // behind `keysFetched`: a document that is no key set makes no keys younger
      this.fetchFailure.succeeded();
    } catch (error) {
      this.fetchFailure.failed(error, this.callerImpact);
    }
    this.fetchEndedAtMs = performance.now();
  }

  /**
   * A key set that is equal to the former one does not replace it: all remembered tokens would have to be verified again.
   * @throws JWKSInvalid if the document is no key set
   */
  private keysFetched(document: unknown): void {
    const fetched = toSigningKeys(document);
    const former = this.fetchedKeys;
    if (isDeepStrictEqual(fetched.document, former?.document)) return;
    this.fetchedKeys = fetched;
    const fields = { issuer: this.name, keyIds: fetched.document.keys.map(({ kid }) => kid) };
    if (countSigningKeys(fetched.document) === 0) {
      this.logger.warn({ message: 'issuer: no key that can verify a token, callers are refused', ...fields });
    } else {
      this.logger.log({ message: former ? 'issuer: other signing keys' : 'issuer: signing keys', ...fields });
    }
  }

  /**
   * Never throws: what was read before stays. Where the metadata alone tell the address of the key set, and were never
   * read, the fetch of the keys fails and logs the error as its cause.
   */
  private async updateMetadata(): Promise<void> {
    const { name, keySetAddress } = this.settings;
    try {
      const metadata = await discover(name, this.settings);
      // Equal ones do not replace the former: the contract would be made again
      if (!isDeepStrictEqual(metadata, this.readMetadata)) this.readMetadata = metadata;
      this.metadataFailure.succeeded();
    } catch (error) {
      this.metadataError = error;
      if (this.readMetadata) this.metadataFailure.failed(error, { name: 'none' });
      else if (keySetAddress !== undefined) {
        this.logger.debug({
          message: 'issuer: no metadata, so /docs and the contract lack its endpoints',
          issuer: name,
          error,
        });
      }
    }
  }

  private get callerImpact(): CallerImpact {
    const { secondsUntilRefusal } = this;
    if (secondsUntilRefusal === 0) return { name: 'refused' };
    return { name: 'refused-later', secondsLeft: secondsUntilRefusal };
  }

  private get secondsUntilTooOld(): number {
    return Math.max(0, MAX_AGE_SECONDS - this.ageSeconds);
  }
}

/** @throws JWKSInvalid if the document is no key set */
export function toSigningKeys(document: unknown): SigningKeys {
  const keySet = document as JSONWebKeySet;
  createLocalJWKSet(keySet); // checks the form
  return { document: keySet, find: createLocalJWKSet({ keys: keySet.keys.map(acceptBothNames) }) };
}

/**
 * Removes the algorithm of an Ed25519 key. `EdDSA` and `Ed25519` are two names of one algorithm (RFC 9864), and jose
 * would refuse a token that uses the other name than its key.
 */
function acceptBothNames(key: JWK): JWK {
  const { alg, ...others } = key;
  const isNameOfEd25519 = alg === 'EdDSA' || alg === 'Ed25519';
  return key.crv === 'Ed25519' && isNameOfEd25519 ? others : key;
}

/** How many keys of a set are meant for signatures that this service accepts. */
export function countSigningKeys({ keys }: JSONWebKeySet): number {
  return keys.filter(canVerify).length;
}

/** The members of a key come from elsewhere, in any form. */
function canVerify(key: JWK): boolean {
  const { kty, use, alg, key_ops: operations } = key as Record<string, unknown>;
  const isForSignatures = use === undefined || use === 'sig';
  const mayVerify = operations === undefined || includes(operations, 'verify');
  const isOfAlgorithm = alg === undefined || includes(ALGORITHMS, alg);
  return includes(PUBLIC_KEY_TYPES, kty) && isForSignatures && mayVerify && isOfAlgorithm;
}

function includes(list: unknown, member: unknown): boolean {
  return Array.isArray(list) && list.includes(member);
}
