import { setTimeout as pause } from 'node:timers/promises';
import { Issuer } from '../support/issuer.js';
import { ALL_PATHS } from '../support/paths.js';
import { World } from '../support/world.js';
import { type Credentials, Traffic, type TrafficReport } from '../support/traffic.js';
import { statusOf } from './probe.js';

const PER_SECOND = 300;
/** Requests a second of callers of the issuer that fails, each with a token of its own. */
const OTHERS_PER_SECOND = 50;
const ROTATION_MS = 2_000;
const TOKENS = 500;

/** One of two issuers is away, slow, or rotates its keys all the time. Gives what callers of the other notice. */
export async function issuers(seconds = 60): Promise<string> {
  const stage = await World.apart(0);
  const other = await Issuer.start();
  try {
    stage.replicas.push(
      await stage.replica({ OAUTH_ISSUER: [stage.issuer.url, other.url].join() }),
    );
    await good(stage, 5); // warms up
    const lines: string[] = [];
    for (const fault of ['down', 'slow', 'rotating'] as const) {
      const normal = await good(stage, seconds);
      const trouble = new Trouble(stage, other, fault);
      const { asked, failed, failures, p50, p99 } = await good(stage, seconds);
      const statuses = await trouble.end();
      lines.push(
        `the other issuer ${fault} for ${seconds} s: ${failed} of ${asked} requests failed, p99 ${(p99 / normal.p99).toFixed(1)} times the normal (${p99.toFixed(1)} and ${normal.p99.toFixed(1)} ms), median ${(p50 / normal.p50).toFixed(1)} times; its own callers got ${statuses}`,
        ...failures.slice(0, 3),
      );
    }
    return lines.join('\n');
  } finally {
    await other.close();
    await stage.close();
  }
}

/** Callers of the issuer that works: every token is a new one. */
async function good(stage: World, seconds: number): Promise<TrafficReport> {
  const tokens = await Promise.all(Array.from({ length: TOKENS }, () => stage.issuer.token()));
  const traffic = new Traffic(() => stage.replicas[0]?.url ?? '', stage.credentials, {
    perSecond: PER_SECOND,
    mix: tokens.map((token, at) => ({
      path: ALL_PATHS[at % ALL_PATHS.length] as string,
      headers: { Authorization: `Bearer ${token}` },
      status: 200,
    })),
  });
  await pause(seconds * 1000);
  return traffic.stop();
}

/** The other issuer fails, and its callers go on asking with new tokens. */
class Trouble {
  private readonly statuses: Record<number, number> = {};
  private readonly underWay = new Set<Promise<void>>();
  private readonly timers: NodeJS.Timeout[];

  constructor(
    private readonly stage: World,
    private readonly issuer: Issuer,
    fault: 'down' | 'slow' | 'rotating',
  ) {
    issuer.fault = fault === 'rotating' ? 'none' : fault;
    this.timers = [
      setInterval(() => {
        const asked = this.ask(stage.credentials).finally(() => this.underWay.delete(asked));
        this.underWay.add(asked);
      }, 1000 / OTHERS_PER_SECOND),
    ];
    if (fault === 'rotating')
      this.timers.push(
        setInterval(() => void issuer.rotate(`k${Date.now()}`, { keepOld: false }), ROTATION_MS),
      );
  }

  async end(): Promise<string> {
    for (const timer of this.timers) clearInterval(timer);
    await Promise.all(this.underWay);
    this.issuer.fault = 'none';
    return Object.entries(this.statuses)
      .map(([status, count]) => `${count} times ${status}`)
      .join(', ');
  }

  private async ask({ key }: Credentials): Promise<void> {
    const url = `${this.stage.replicas[0]?.url}${ALL_PATHS[0]}`;
    const status = await statusOf(url, { key, token: await this.issuer.token() });
    this.statuses[status] = (this.statuses[status] ?? 0) + 1;
  }
}
