/** What an open page answers: a whole body with its media type, and what the browser may do with it. */
export class Page {
  constructor(
    readonly type: string,
    readonly body: Buffer,
    /** Content-Security-Policy, for pages that a browser shows. */
    readonly policy = "default-src 'none'",
  ) {}
}
