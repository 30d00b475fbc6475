// Limits how often callers can cause a fetch of an issuer's keys. It promises two things: a fetch that callers cause begins only if fewer than
// four fetches began in the last minute; and after a key id was not found, neither that caller nor that key id causes another fetch within a
// minute. So a single caller cannot use up the fetches that others need when the issuer rotates its keys.
export const MOST_FETCHES = 4;
const WINDOW_MS = 60_000;

interface Fetch {
  readonly at: number;
  /** Id of the API key of the caller who caused the fetch, and the key id that was looked for. */
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

  /** Records that a fetch begins, whatever its cause. */
  add(cause: { readonly caller?: string; readonly kid?: string } = {}): void {
    this.forgetOld();
    this.fetches.push({ at: performance.now(), ...cause });
  }

  /** Milliseconds until a fetch that no caller causes is permitted: at most four in a minute. */
  get pauseMs(): number {
    const first = this.fetches.at(-MOST_FETCHES);
    return first ? first.at + WINDOW_MS - performance.now() : 0;
  }

  /** The key ids that are known after a fetch. Callers who looked for one of them are not limited. */
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
