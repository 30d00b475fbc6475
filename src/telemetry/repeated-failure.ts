import type { Log } from './log.js';

const SUMMARY_MS = 60_000;

/** Logs a failure that repeats: once at its start, once a minute while it lasts, and once at its end. */
export class RepeatedFailure {
  private said = '';
  private failures = 0;
  private saidAt = 0;

  constructor(
    private readonly log: Log,
    private readonly subject: string,
  ) {}

  /** @param callersRefusedAt when callers will be refused if it goes on. That this has begun is told as well */
  failed(error: unknown, callersRefusedAt?: Date): void {
    const isRefusing = callersRefusedAt !== undefined && callersRefusedAt.getTime() <= Date.now();
    const outcome = isRefusing ? 'callers are refused' : 'trying on';
    const reason = describe(error);
    const failures = ++this.failures;
    const saying = `${outcome}, ${callersRefusedAt !== undefined}, ${reason}`;
    if (this.said === saying && Date.now() - this.saidAt < SUMMARY_MS) return;
    [this.said, this.saidAt] = [saying, Date.now()];
    const line = { reason, failures, callersRefusedAt };
    this.log[isRefusing ? 'error' : 'warn'](line, `${this.subject}: failed, ${outcome}`);
  }

  succeeded(): void {
    const { failures } = this;
    if (failures > 0) this.log.info({ failures }, `${this.subject}: works again`);
    [this.said, this.failures] = ['', 0];
  }
}

/** Codes of Node's TLS for a certificate that no known CA has signed. */
const UNKNOWN_CA = /^(SELF_SIGNED_|DEPTH_ZERO_SELF_SIGNED_|UNABLE_TO_(GET_ISSUER|VERIFY))/;
const REMEDY =
  ": the CA of the server's certificate is not known here. Name the file of the CA in NODE_EXTRA_CA_CERTS, for PostgreSQL in sslrootcert of the connection string";

/** One line about an error. For an AggregateError (every address refused) it joins the messages of its parts. */
export function describe(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0)
    return error.errors.map(describe).join('; ');
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? '' : ` (${describe(error.cause)})`;
  const remedy = UNKNOWN_CA.test(String((error as NodeJS.ErrnoException).code)) ? REMEDY : '';
  return `${error.message || error.name}${remedy}${cause}`;
}
