import { setTimeout as pause } from 'node:timers/promises';
import { cpuSeconds } from '../support/linux-process.js';
import { World } from '../support/world.js';

/** How long a replica runs before it counts as idle, in milliseconds. */
const SETTLED_MS = 10_000;

/** The share of a core that a replica without callers uses. */
export async function idle(seconds = 60): Promise<string> {
  const stage = await World.apart(1);
  const pid = stage.replicas[0]?.pid ?? 0;
  try {
    await pause(SETTLED_MS);
    const [before, startedAt] = [cpuSeconds(pid), performance.now()];
    await pause(seconds * 1000);
    const share = (cpuSeconds(pid) - before) / ((performance.now() - startedAt) / 1000);
    return `an idle replica uses ${(100 * share).toFixed(2)} % of a core (${seconds} s)`;
  } finally {
    await stage.close();
  }
}
