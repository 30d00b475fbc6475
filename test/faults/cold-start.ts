import { Agent, request } from 'node:http';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { PATHS } from '../support/paths.js';
import { run } from '../support/program.js';
import { RunningService, until } from '../support/service.js';
import { Stage } from '../support/stage.js';
import { type Credentials, entityTagOf } from '../support/traffic.js';

const PER_SECOND = 300;
const REPLICAS = 3;
const LEAD_MS = 45_000;
/** By when a replica has to have switched after a moment. */
const SWITCH_MS = 50;
const PATIENCE = { timeoutMs: 120_000, everyMs: 10 };
const AREAS = {
  [PATHS.orderUpdate]: 'order-update',
  [PATHS.orderCaptureV2]: 'order-capture-v2',
  [PATHS.communicationCodes]: 'order-scheduling',
};
type Path = keyof typeof AREAS;
const TARGETS = Object.keys(AREAS) as Path[];

/** Three replicas are killed and started again under traffic while PostgreSQL and the issuer are away, a moment comes, and PostgreSQL returns with a change. */
export async function coldStart(): Promise<string> {
  const stage = await Stage.set(0);
  const folder = await mkdtemp(join(tmpdir(), 'order-lookup-'));
  const { database, postgres, issuer, credentials, replicas } = stage;
  const moment = Date.now() + LEAD_MS;
  await database.query(
    `insert into code_list_value (code_list, value, valid_from) values ('orderType', 'Begins', to_timestamp(${moment / 1000}));
     insert into communication_code (code_type, code, description, valid_until) values ('MOMENT', 'ENDS', 'Ends', to_timestamp(${moment / 1000}))`,
  );
  const tagAt = async (path: Path, time: number): Promise<string> => {
    const words = ['show', '--at', new Date(time).toISOString(), '--area', AREAS[path]];
    const shown = await run('codes.js', words, {
      DATABASE_URL: database.urlOf('order_lookup_owner'),
    });
    return entityTagOf(Buffer.from(shown.stdout.trimEnd()));
  };
  const tags = new Map<Path, readonly [before: string, after: string]>();
  for (const path of TARGETS)
    tags.set(path, [await tagAt(path, Date.now()), await tagAt(path, moment + 1)]);
  const start = (at: number, port = 0): Promise<RunningService> =>
    RunningService.start({
      ...issuer.environment,
      DATABASE_URL: database.urlOf('order_lookup_service'),
      LAST_GOOD_FILE: join(folder, `replica-${at}`),
      PORT: String(port),
    });
  try {
    for (let at = 0; at < REPLICAS; at++) {
      const replica = await start(at);
      await replica.ready();
      await until(
        async () => (await replica.metric('order_lookup_last_good_writes_total')) > 0,
        PATIENCE,
      );
      replicas.push(replica);
    }
    const traffic = new Asking(replicas, credentials, moment, tags);
    await pause(2_000);
    await postgres.stop();
    issuer.fault = 'down';
    await pause(1_000);

    /** Kills a replica and starts it again. Gives the milliseconds from the start of the process to its first 200. */
    const restart = async (at: number): Promise<number> => {
      const old = replicas[at] as RunningService;
      await old.kill();
      const startedAt = performance.now();
      const replica = await start(at, old.port);
      await until(
        async () => (await ask(replica.url + PATHS.orderUpdate, credentials)).status === 200,
        PATIENCE,
      );
      replicas[at] = replica;
      return performance.now() - startedAt;
    };
    const single: number[] = [];
    for (let at = 0; at < REPLICAS; at++) single.push(await restart(at));
    const together = await Promise.all(replicas.map((_, at) => restart(at)));
    const restartedBefore = Date.now() < moment;
    await until(async () => Date.now() > moment + 2_000, PATIENCE);

    await postgres.start();
    traffic.isOver = true; // from now on the answers change
    await database.query(
      `insert into code_list_value (code_list, value) values ('orderType', 'Returned')`,
    );
    const committedAt = performance.now();
    issuer.fault = 'none';
    for (const { url } of replicas)
      await until(
        async () => (await ask(url + PATHS.orderUpdate, credentials)).body.includes('"Returned"'),
        PATIENCE,
      );
    const fresh = performance.now() - committedAt;
    await traffic.stop();
    const list = (times: number[]): string => times.map((time) => Math.round(time)).join(', ');
    return [
      `from the start of a process to its first 200, one after the other: ${list(single)} ms; all at once: ${list(together)} ms`,
      `${traffic.asked} requests, ${traffic.right} right, ${traffic.wrong.length} wrong, ${traffic.unanswered} that no replica answered (all were killed at once), ${traffic.retried} retried at another replica`,
      `right means: status and entity tag as before the outage, until the moment; those after the moment from ${SWITCH_MS} ms after it${restartedBefore ? '' : ' (the moment came during the restarts)'}`,
      `PostgreSQL returned with a change: every replica served it ${Math.round(fresh)} ms after the commit`,
      ...traffic.wrong.slice(0, 5),
    ].join('\n');
  } finally {
    await stage.strike();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Requests at a steady rate. One that finds no replica, or one that is not ready, goes on to the next, as a balancer does. */
class Asking {
  readonly wrong: string[] = [];
  asked = 0;
  right = 0;
  unanswered = 0;
  retried = 0;
  isOver = false;
  private readonly startedAt = performance.now();
  private readonly underWay = new Set<Promise<void>>();
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly replicas: readonly RunningService[],
    private readonly credentials: Credentials,
    private readonly moment: number,
    private readonly tags: ReadonlyMap<Path, readonly [before: string, after: string]>,
  ) {
    this.timer = setInterval(() => {
      while (
        !this.isOver &&
        this.asked < ((performance.now() - this.startedAt) / 1000) * PER_SECOND
      ) {
        const one = this.one(this.asked++).finally(() => this.underWay.delete(one));
        this.underWay.add(one);
      }
    }, 10);
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await Promise.all(this.underWay);
  }

  private async one(number: number): Promise<void> {
    const path = TARGETS[number % TARGETS.length] as Path;
    const isForged = number % 10 === 0;
    const credentials = isForged ? { ...this.credentials, key: 'wrong' } : this.credentials;
    for (let attempt = 0; attempt < REPLICAS; attempt++) {
      const sent = Date.now();
      const url = this.replicas[(number + attempt) % REPLICAS]?.url ?? '';
      const reply = await ask(url + path, credentials).catch(() => undefined);
      if (!reply || reply.status === 503) {
        this.retried++;
        continue;
      }
      if (this.isOver || (isForged ? reply.status === 401 : this.isRight(path, reply, sent)))
        this.right++;
      else
        this.wrong.push(`${new Date().toISOString()} ${url}${path}: ${reply.status} ${reply.etag}`);
      return;
    }
    this.unanswered++;
  }

  private isRight(path: Path, { status, etag, body }: Reply, sent: number): boolean {
    const [before, after] = this.tags.get(path) ?? [];
    const mayBe = [
      ...(sent < this.moment + SWITCH_MS ? [before] : []),
      ...(Date.now() >= this.moment ? [after] : []),
    ];
    return status === 200 && mayBe.includes(etag) && etag === entityTagOf(Buffer.from(body));
  }
}

interface Reply {
  readonly status: number;
  readonly etag: string;
  readonly body: string;
}

const agent = new Agent({ keepAlive: true });

function ask(url: string, { key, token }: Credentials): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const headers = { 'Api-Key': key, Authorization: `Bearer ${token}` };
    const sent = request(url, { agent, headers, timeout: 5_000 }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (text: string) => (body += text));
      response.once('error', reject);
      response.once('end', () =>
        resolve({ status: response.statusCode ?? 0, etag: response.headers.etag ?? '', body }),
      );
    });
    sent.once('timeout', () => sent.destroy(new Error('no answer within 5 s')));
    sent.once('error', reject).end();
  });
}
