// How often callers may make the service fetch the keys of an issuer. It promises two things, whoever sends whatever: a fetch that callers
// cause begins only while fewer than four began in the last minute; and a caller whose key id was not found, or a key id that was not found,
// causes no other one in that minute, so that a single caller never uses up what the others need when the issuer rotates its keys.
export const MOST_FETCHES = 4;
const WINDOW_MS = 60_000;

interface Fetch {
  readonly at: number;
  /** Id of the API key of the caller who caused it, and the key id that he wanted. */
  readonly caller?: string;
  readonly kid?: string;
}

export class FetchLimit {
  private fetches: Fetch[] = [];

  /** Whether this caller may cause a fetch for this key id now. */
  permits(caller: string, kid: string): boolean {
    this.forgetOld();
    return (
      this.fetches.length < MOST_FETCHES &&
      !this.fetches.some((fetch) => fetch.caller === caller || fetch.kid === kid)
    );
  }

  /** Takes note of a fetch that begins, whatever its cause. */
  add(cause: { readonly caller?: string; readonly kid?: string } = {}): void {
    this.forgetOld();
    this.fetches.push({ at: performance.now(), ...cause });
  }

  /** Milliseconds until a fetch that nobody in particular causes would be one of at most four in a minute. */
  get pauseMs(): number {
    const first = this.fetches.at(-MOST_FETCHES);
    return first ? first.at + WINDOW_MS - performance.now() : 0;
  }

  /** The key ids that are known now: whoever asked for one of them asked for a good reason. */
  found(kids: ReadonlySet<string>): void {
    this.fetches = this.fetches.map((fetch) =>
      fetch.kid !== undefined && kids.has(fetch.kid) ? { at: fetch.at } : fetch,
    );
  }

  private forgetOld(): void {
    const since = performance.now() - WINDOW_MS;
    this.fetches = this.fetches.filter(({ at }) => at > since);
  }
}
