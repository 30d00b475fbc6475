import { readFileSync } from 'node:fs';

const SAMPLE_MS = 20;
/** Of the processor's time; from here on a machine keeps nobody's promises about time. */
const MOST_MS = 200;
const ATTEMPTS = 5;

/** Milliseconds for which the host has taken processors away so far (proc(5), /proc/stat, `steal` in hundredths of a second). */
function stolen(): number {
  try {
    return Number(readFileSync('/proc/stat', 'utf8').split(/\s+/)[8]) * 10;
  } catch {
    return 0; // not Linux
  }
}

/**
 * For a promise that has a time in it, such as a grace period: a failure counts only if the machine gave this process its time meanwhile,
 * otherwise the scenario runs again.
 */
export async function undisturbed(scenario: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const before = stolen();
    let expected = performance.now() + SAMPLE_MS;
    let latest = 0;
    const timer = setInterval(() => {
      latest = Math.max(latest, performance.now() - expected);
      expected = performance.now() + SAMPLE_MS;
    }, SAMPLE_MS);
    try {
      await scenario();
      return;
    } catch (error) {
      if (Math.max(latest, stolen() - before) < MOST_MS || attempt === ATTEMPTS) throw error;
    } finally {
      clearInterval(timer);
    }
  }
}
