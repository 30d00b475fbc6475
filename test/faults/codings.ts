import { setTimeout as pause } from 'node:timers/promises';
import { flipCodes } from '../support/flipping.js';
import { cpuSeconds } from '../support/linux-process.js';
import { PATHS } from '../support/paths.js';
import { type RawReply, Reader, requestTo } from '../support/reader.js';
import { until } from '../support/service.js';
import { Stage } from '../support/stage.js';
import { Traffic } from '../support/traffic.js';

const CODES = 20_000;
const CODINGS = ['identity', 'gzip', 'br'];
/** How often each coding is asked for to measure the CPU time of an answer. */
const ASKED = 200;
/** Replies for each change of every code. */
const REPLIES_FOR_CHANGE = 100;
const BESIDE = { seconds: 10, perSecond: 200, changeEveryMs: 500 };
const PATIENCE = { timeoutMs: 120_000 };

/** Bytes and CPU time of each content coding of 20,000 codes, what they do to small requests, and readers of all codings while every code changes. */
export async function codings(replies = 100_000): Promise<string> {
  const stage = await Stage.set(1);
  const { database, credentials } = stage;
  const [{ url, pid }] = stage.replicas as [(typeof stage.replicas)[number]];
  const requestOf = (coding: string): string =>
    requestTo(PATHS.communicationCodes, {
      'Api-Key': credentials.key,
      Authorization: `Bearer ${credentials.token}`,
      'Accept-Encoding': coding,
    });
  const lines: string[] = [];
  const fill = (count: number): Promise<unknown> =>
    database.query(
      `insert into communication_code select 'TYPE-' || n % 100, 'CODE-' || n, 'Order ' || md5(n::text) || ' of the sample: confirmed' from generate_series(1, ${count}) as n`,
    );
  try {
    await fill(CODES);
    const reader = await Reader.to(url);
    const ask = (coding: string): Promise<RawReply> => reader.ask(requestOf(coding));
    await until(async () => (await ask('identity')).body.length > CODES * 50, PATIENCE);
    for (const coding of CODINGS) {
      const before = cpuSeconds(pid);
      if (coding !== 'identity')
        await until(async () => (await ask(coding)).coding === coding, {
          ...PATIENCE,
          everyMs: 200,
        });
      const made = cpuSeconds(pid);
      let bytes = 0;
      for (let asked = 0; asked < ASKED; asked++) bytes = (await ask(coding)).body.length;
      const each = ((cpuSeconds(pid) - made) * 1000) / ASKED;
      lines.push(
        `${CODES} codes in ${coding}: ${bytes} bytes, made in ${Math.round((made - before) * 1000)} ms of CPU time, sent in ${each.toFixed(2)} ms`,
      );
    }
    const small = async (): Promise<string> => {
      const mix = [PATHS.orderUpdate, PATHS.orderCaptureV2].map((path) => ({ path, status: 200 }));
      const traffic = new Traffic(() => url, credentials, { perSecond: BESIDE.perSecond, mix });
      await pause(BESIDE.seconds * 1000);
      const { failed, asked, p50, p99, largest } = await traffic.stop();
      return `${failed} of ${asked} failed, median ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, largest ${largest.toFixed(1)} ms`;
    };
    lines.push(`small requests alone: ${await small()}`);
    const over = new AbortController();
    const seen: Record<string, number> = {};
    const large = async (coding: string): Promise<void> => {
      const own = await Reader.to(url);
      for (; !over.signal.aborted; await pause(20)) {
        const reply = await own.ask(requestOf(coding));
        const name = `${coding} as ${reply.coding || 'identity'}`;
        seen[name] = (seen[name] ?? 0) + 1;
      }
      own.close();
    };
    const change = async (): Promise<void> => {
      for (let turn = 0; !over.signal.aborted; turn++) {
        await database.query(
          `update communication_code set description = 'Change ${turn}' where code = 'CODE-${turn}'`,
        );
        await pause(BESIDE.changeEveryMs);
      }
    };
    const beside = [change(), large('gzip'), large('br')];
    lines.push(
      `small requests while the list changes twice a second and is coded: ${await small()}`,
    );
    over.abort();
    await Promise.all(beside);
    reader.close();
    lines.push(`large answers meanwhile: ${JSON.stringify(seen)}`);
    const {
      faults,
      flips,
      coded,
      replies: read,
    } = await flipCodes(database, stage.replicas, credentials, {
      count: 400,
      wanted: replies,
      leastFlips: replies / REPLIES_FOR_CHANGE,
      accepted: ['', 'gzip', 'br', '*;q=0'],
    });
    lines.push(
      `${read} decoded replies during ${flips} changes of every code: ${faults.length} mixed or with a wrong entity tag; by coding ${JSON.stringify(coded)}`,
      ...faults.slice(0, 5),
    );
    return lines.join('\n');
  } finally {
    await stage.strike();
  }
}
