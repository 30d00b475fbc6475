import type { Configuration } from '../../configuration/configuration.js';
import { fetchJson } from './fetch-json.js';

/** The members of an authorization server's metadata that the service uses (OpenID Connect Discovery 1.0 section 3, RFC 8414 section 2). */
export interface IssuerMetadata {
  readonly jwks_uri: string;
  readonly authorization_endpoint?: string;
  readonly token_endpoint?: string;
  readonly scopes_supported?: readonly string[];
}

/** The two addresses of the metadata: OpenID Connect appends its path, RFC 8414 inserts it between host and path. */
function addresses(issuer: string): string[] {
  const { origin, pathname } = new URL(issuer);
  return [
    `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${pathname.replace(/\/$/, '')}`,
  ];
}

/**
 * Finds the metadata of an issuer.
 * @throws Error if neither address returns metadata of exactly this issuer (RFC 8414 section 3.3) with a safe jwks_uri
 */
export async function discover(
  issuer: string,
  { OAUTH_ALLOW_HTTP }: Pick<Configuration, 'OAUTH_ALLOW_HTTP'>,
): Promise<IssuerMetadata> {
  let failure: unknown;
  for (const address of addresses(issuer)) {
    try {
      const metadata = (await fetchJson(address)) as Partial<IssuerMetadata> & {
        issuer?: unknown;
      };
      if (metadata?.issuer !== issuer)
        throw new Error(
          `${address} names the issuer ${JSON.stringify(metadata?.issuer)}: OAUTH_ISSUER has to be exactly that`,
        );
      const { jwks_uri: jwksUri } = metadata;
      if (typeof jwksUri !== 'string' || !URL.canParse(jwksUri))
        throw new Error(`${address} has no jwks_uri`);
      const downgraded =
        new URL(issuer).protocol === 'https:' && new URL(jwksUri).protocol !== 'https:';
      if (downgraded && !OAUTH_ALLOW_HTTP)
        throw new Error(`${address} has a jwks_uri without https`);
      return metadata as IssuerMetadata;
    } catch (error) {
      failure ??= error;
    }
  }
  throw failure;
}

/** Metadata older than this is read before the next fetch of the keys, so that a key set that moved is found within ten minutes. */
const METADATA_MS = 8 * 60_000;

/** The metadata of one issuer, read again now and then. */
export class Discovery {
  /** What was last read, however old; undefined until then. */
  metadata: IssuerMetadata | undefined;
  private triedAt = -Infinity;

  constructor(
    private readonly issuer: string,
    private readonly configuration: Pick<Configuration, 'OAUTH_ALLOW_HTTP'>,
  ) {}

  /** Reads the metadata if that is due. */
  async refresh(): Promise<void> {
    if (performance.now() < this.triedAt + METADATA_MS) return;
    this.triedAt = performance.now();
    this.metadata = await discover(this.issuer, this.configuration);
  }

  /** It has to be read again: it could not be read, or the key set may have moved. */
  expire(): void {
    this.triedAt = -Infinity;
  }
}
