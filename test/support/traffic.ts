import { createHash } from 'node:crypto';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { ALL_PATHS, PATHS } from './paths.js';

/** A request of the mix, and what makes its answer the right one. */
interface Call {
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status: number;
  /** Problem type that has to come back. */
  readonly problem?: string;
}

/** Every kind of answer that callers are used to. */
const MIX: readonly Call[] = [
  ...ALL_PATHS.map((path) => ({ path, status: 200 })),
  { path: `${PATHS.communicationCodes}?codeType=SAMPLE-STATUS&code=S1`, status: 200 },
  { path: PATHS.orderUpdate, method: 'HEAD', status: 200 },
  { path: PATHS.orderCaptureV2, headers: { 'If-None-Match': '*' }, status: 304 },
  {
    path: PATHS.orderUpdate,
    headers: { 'Api-Key': 'wrong' },
    status: 401,
    problem: 'invalid-credentials',
  },
  {
    path: PATHS.orderCaptureV2,
    headers: { Authorization: 'Bearer a.b.c' },
    status: 401,
    problem: 'invalid-credentials',
  },
  { path: `${PATHS.communicationCodes}?codetype=x`, status: 400, problem: 'invalid-query' },
  { path: '/nothing', status: 404, problem: 'not-found' },
];
/** What `npm run faults` judges by. In `npm test` other tests run beside, and the machine may be away for seconds. */
export const WITHIN_A_SECOND = { limitMs: 1_000 };
const LIMIT_MS = 60_000;
const TICK_MS = 10;

export interface Credentials {
  readonly key: string;
  readonly token: string;
}

export interface TrafficReport {
  readonly asked: number;
  /** What was wrong, in words; a hundred at most, those that were only late last. */
  readonly failures: readonly string[];
  readonly failed: number;
  /** Those of the failed whose answer was the right one, but came too late. */
  readonly late: number;
  /** Milliseconds from the sending of a request to the end of its answer. */
  readonly p50: number;
  readonly p99: number;
  readonly largest: number;
}

export interface TrafficOptions {
  readonly perSecond?: number;
  readonly mix?: readonly Call[];
  /** An answer that comes later has failed. */
  readonly limitMs?: number;
}

/** Mixed requests at a steady rate, whatever comes back. Whatever is not the right answer within the limit has failed. */
export class Traffic {
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 64 });
  private readonly underWay = new Set<Promise<void>>();
  private readonly latencies: number[] = [];
  private readonly failures: string[] = [];
  private readonly startedAt = performance.now();
  private readonly timer: NodeJS.Timeout;
  private readonly limitMs: number;
  asked = 0;
  failed = 0;
  private late = 0;

  /** @param target the address that the next request goes to */
  constructor(
    private readonly target: () => string,
    private readonly credentials: Credentials,
    { perSecond = 200, mix = MIX, limitMs = LIMIT_MS }: TrafficOptions = {},
  ) {
    this.limitMs = limitMs;
    this.timer = setInterval(() => {
      const due = ((performance.now() - this.startedAt) / 1000) * perSecond;
      while (this.asked < due) {
        const answered = this.ask(mix[this.asked++ % mix.length] as Call).finally(() =>
          this.underWay.delete(answered),
        );
        this.underWay.add(answered);
      }
    }, TICK_MS);
  }

  /** Waits for the answers that are still to come. */
  async stop(): Promise<TrafficReport> {
    clearInterval(this.timer);
    await Promise.all(this.underWay);
    this.agent.destroy();
    this.latencies.sort((a, b) => a - b);
    const at = (share: number): number =>
      this.latencies[Math.floor(this.latencies.length * share)] ?? NaN;
    return {
      asked: this.asked,
      failed: this.failed,
      late: this.late,
      failures: this.failures,
      p50: at(0.5),
      p99: at(0.99),
      largest: this.latencies.at(-1) ?? NaN,
    };
  }

  private async ask(call: Call): Promise<void> {
    const startedAt = performance.now();
    const url = this.target() + call.path;
    const fault = await this.send(url, call).then(
      (reply) => faultOf(call, reply),
      (error: unknown) => String(error),
    );
    const milliseconds = performance.now() - startedAt;
    this.latencies.push(milliseconds);
    const wrong =
      fault ??
      (milliseconds > this.limitMs ? `answered after ${Math.round(milliseconds)} ms` : undefined);
    if (wrong === undefined) return;
    this.failed++;
    const line = `${new Date().toISOString()} ${call.method ?? 'GET'} ${url}: ${wrong}`;
    if (fault === undefined) {
      this.late++;
      this.failures.push(line);
    } else this.failures.unshift(line);
    this.failures.splice(100);
  }

  private send(url: string, { method = 'GET', headers }: Call): Promise<Reply> {
    const all = {
      'Api-Key': this.credentials.key,
      Authorization: `Bearer ${this.credentials.token}`,
      ...headers,
    };
    return new Promise((resolve, reject) => {
      const sent = request(url, { agent: this.agent, method, headers: all }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.once('error', reject);
        response.once('end', () => {
          clearTimeout(timer);
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks),
          });
        });
      });
      const timer = setTimeout(
        () => sent.destroy(new Error(`no answer within ${LIMIT_MS} ms`)),
        LIMIT_MS,
      );
      sent.once('error', (error) => {
        clearTimeout(timer);
        reject(error);
      });
      sent.end();
    });
  }
}

interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** The entity tag that goes with a body: made from the content alone, so that anyone can check it. */
export const entityTagOf = (body: Buffer): string =>
  `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;

function faultOf({ method, status, problem }: Call, reply: Reply): string | undefined {
  if (reply.status !== status)
    return `status ${reply.status} where ${status} was expected: ${reply.body.toString().slice(0, 200)}`;
  if (problem !== undefined)
    return (JSON.parse(reply.body.toString()) as { type: string }).type.endsWith(
      `/problems/${problem}`,
    )
      ? undefined
      : `another problem than ${problem}`;
  if (status === 200 && method !== 'HEAD' && reply.headers.etag !== entityTagOf(reply.body))
    return 'the entity tag does not fit the body';
  return undefined;
}
