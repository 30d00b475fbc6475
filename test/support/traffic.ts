import { createHash } from 'node:crypto';
import { toMessage } from '../../src/telemetry/error-message.js';
import { ALL_PATHS, PATHS } from './paths.js';

/** A request of the mix, and the expected answer. */
interface Call {
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status: number;
  /** The problem type of the expected answer. */
  readonly problem?: string;
}

const INVALID = { status: 401, problem: 'invalid-credentials' };
/** Requests for all usual kinds of answers. The database may have any codes: a filter that finds none gets 200, too. */
const MIX: readonly Call[] = [
  ...ALL_PATHS.map((path) => ({ path, status: 200 })),
  { path: `${PATHS.communicationCodes}?codeType=SAMPLE-STATUS&code=S1`, status: 200 },
  { path: PATHS.orderUpdate, method: 'HEAD', status: 200 },
  { path: PATHS.orderCaptureV2, headers: { 'If-None-Match': '*' }, status: 304 },
  { path: PATHS.orderUpdate, headers: { 'Api-Key': 'wrong' }, ...INVALID },
  { path: PATHS.orderCaptureV2, headers: { Authorization: 'Bearer a.b.c' }, ...INVALID },
  { path: `${PATHS.communicationCodes}?codetype=x`, status: 400, problem: 'invalid-query' },
  { path: '/nothing', status: 404, problem: 'not-found' },
];
/** An option of Traffic for `npm run faults`: an answer after more than a second is a failure. */
export const WITHIN_A_SECOND = { limitMs: 1_000 };
/** The time after which a request of a long run is given up. */
const GIVE_UP_MS = 60_000;
const TICK_MS = 10;
/** The number of failures that are reported. */
const MAX_FAILURES = 100;
/** The number of requests that may run at the same time if there is no time limit. More would slow the machine down. */
const MOST_UNDER_WAY = 100;

export interface Credentials {
  readonly key: string;
  readonly token: string;
}

export interface TrafficReport {
  readonly asked: number;
  /** At most a hundred failures, in words. Answers that were only late come last. */
  readonly failures: readonly string[];
  readonly failed: number;
  /** The number of failures whose answer was right, but came after the limit. */
  readonly late: number;
  /** The 99th percentile of the times from a request to the end of its answer, in milliseconds. */
  readonly p99: number;
  /** The longest of these times. */
  readonly largest: number;
}

export interface TrafficOptions {
  readonly perSecond?: number;
  /** The time after which an answer is a failure, for long runs. `npm test` has no limit: the machine may be slow. */
  readonly limitMs?: number;
}

/** Mixed requests at a steady rate. A wrong answer is a failure, and so is an answer after the limit. */
export class Traffic {
  private readonly underWay = new Set<Promise<void>>();
  private readonly latencies: number[] = [];
  private readonly failures: string[] = [];
  private readonly startedAt = performance.now();
  private readonly timer: NodeJS.Timeout;
  private readonly limitMs: number;
  asked = 0;
  failed = 0;
  private late = 0;

  /** @param target returns the address for the next request */
  constructor(
    private readonly target: () => string,
    private readonly credentials: Credentials,
    { perSecond = 200, limitMs = Infinity }: TrafficOptions = {},
  ) {
    this.limitMs = limitMs;
    // Without a bound, a slow machine would send more and more requests, and never read an answer. With a time limit,
    // the bound is the number of requests that are sent within the limit
    const most = limitMs === Infinity ? MOST_UNDER_WAY : (perSecond * limitMs) / 1000;
    this.timer = setInterval(() => {
      const due = ((performance.now() - this.startedAt) / 1000) * perSecond;
      while (this.asked < due && this.underWay.size < most) {
        const call = MIX[this.asked % MIX.length] as Call;
        this.asked++;
        this.send(call);
      }
    }, TICK_MS);
  }

  /** Waits for the answers to the requests so far. */
  async waitUntilAnswered(): Promise<void> {
    await Promise.all(this.underWay);
  }

  /** Sends no more requests, and waits for the missing answers. */
  async stop(): Promise<TrafficReport> {
    clearInterval(this.timer);
    await this.waitUntilAnswered();
    const { asked, failed, late, failures } = this;
    const sorted = this.latencies.toSorted((a, b) => a - b);
    const p99 = sorted[Math.floor(sorted.length * 0.99)] ?? NaN;
    return { asked, failed, late, failures, p99, largest: sorted.at(-1) ?? NaN };
  }

  private send(call: Call): void {
    const answered = this.ask(call).finally(() => this.underWay.delete(answered));
    this.underWay.add(answered);
  }

  private async ask(call: Call): Promise<void> {
    const url = this.target() + call.path;
    const startedAtMs = performance.now();
    const fault = await this.sendAndFindFault(url, call);
    const tookMs = performance.now() - startedAtMs;
    this.latencies.push(tookMs);
    const isLate = tookMs > this.limitMs;
    if (fault === undefined && !isLate) return;
    this.failed++;
    const line = `${new Date().toISOString()} ${call.method ?? 'GET'} ${url}`;
    if (fault === undefined) {
      this.late++;
      this.failures.push(`${line}: answered after ${Math.round(tookMs)} ms`);
    } else this.failures.unshift(`${line}: ${fault}`);
    this.failures.splice(MAX_FAILURES);
  }

  private async sendAndFindFault(url: string, call: Call): Promise<string | undefined> {
    const { key, token } = this.credentials;
    const headers = {
      'Api-Key': key,
      Authorization: `Bearer ${token}`,
      'Accept-Encoding': 'identity',
      ...call.headers,
    };
    const signal = this.limitMs === Infinity ? null : AbortSignal.timeout(GIVE_UP_MS);
    try {
      return await findFault(call, await fetch(url, { method: call.method ?? 'GET', headers, signal }));
    } catch (error) {
      return toMessage(error);
    }
  }
}

/** Returns the entity tag of a body. It is made only from the bytes, so that anybody can check it. */
export const makeEntityTag = (body: Buffer): string =>
  `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;

async function findFault({ method, status, problem }: Call, reply: Response): Promise<string | undefined> {
  const body = Buffer.from(await reply.arrayBuffer());
  if (reply.status !== status)
    return `status ${reply.status} where ${status} was expected: ${body.toString().slice(0, 200)}`;
  if (problem !== undefined && !body.includes(`/problems/${problem}"`)) return `another problem than ${problem}`;
  const hasTag = status === 200 && method !== 'HEAD';
  if (hasTag && reply.headers.get('etag') !== makeEntityTag(body)) return 'the entity tag does not fit the body';
  return undefined;
}
