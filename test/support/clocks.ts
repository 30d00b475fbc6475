/** Environment of a process that runs this program before its own. */
export const preload = (program: string): { NODE_OPTIONS: string } => ({
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(program)}`,
});

/** Environment of a process whose wall clock is that many milliseconds ahead of the machine's. */
export const skewedClock = (milliseconds: number): Record<string, string> =>
  preload(`
  const Real = Date;
  globalThis.Date = class extends Real {
    constructor(...parameters) {
      if (parameters.length > 0) super(...parameters);
      else super(Real.now() + ${milliseconds});
    }
    static now() {
      return Real.now() + ${milliseconds};
    }
  };`);

/**
 * Environment of a process whose monotonic clock runs so many times faster than the machine's, and with it its timers
 * of a minute or more.
 */
export const fastClock = (times: number): Record<string, string> => ({
  ...preload(`
  const now = performance.now.bind(performance);
  const timer = setTimeout;
  Object.defineProperty(performance, 'now', { value: () => now() * ${times} });
  const faster = (work, ms, ...rest) => timer(work, ms >= 60_000 ? ms / ${times} : ms, ...rest);
  globalThis.setTimeout = Object.assign(faster, timer);`),
  API_KEY_MAX_AGE_SECONDS: String(24 * 3_600),
});

/** In which limits of these milliseconds are never reached, whichever way the program sets them. */
const unlimited = (milliseconds: readonly number[]): string => `
  const { syncBuiltinESMExports } = await import('node:module');
  const { default: promises } = await import('node:timers/promises');
  const limits = new Set(${JSON.stringify(milliseconds)});
  const longer = (ms) => (limits.has(ms) ? 2 ** 31 - 1 : ms);
  const timer = setTimeout;
  const pause = promises.setTimeout;
  const signal = AbortSignal.timeout;
  globalThis.setTimeout = Object.assign((work, ms, ...rest) => timer(work, longer(ms), ...rest), timer);
  promises.setTimeout = (ms, ...rest) => pause(longer(ms), ...rest);
  AbortSignal.timeout = (ms) => signal.call(AbortSignal, longer(ms));
  syncBuiltinESMExports();`;

/** Environment of a process without its limits of these milliseconds, which a slow machine would reach. */
export const withoutLimits = (...milliseconds: number[]): { NODE_OPTIONS: string } =>
  preload(unlimited(milliseconds));

/** For which a request waits for the keys of an issuer, and a fetch for its answer. */
const OF_ISSUERS = [800, 2_000];

/** Environment of a service that waits for its issuer as long as it takes. */
export const withoutLimitsOfIssuers = withoutLimits(...OF_ISSUERS);

/**
 * Environment of a service that waits for its issuer as long as it takes, and whose monotonic clock runs a thousand
 * times slower than the machine's: what may happen once in so many seconds happens once, however long a test takes.
 */
export const patient = preload(`${unlimited(OF_ISSUERS)}
  const now = performance.now.bind(performance);
  Object.defineProperty(performance, 'now', { value: () => now() / 1000 });`);

/** Environment of a service that, after a signal to end, answers on until it gets SIGUSR2. */
export const drainsUntilTold = {
  DRAIN_SECONDS: '3600',
  ...preload(`
  const { once } = await import('node:events');
  const { syncBuiltinESMExports } = await import('node:module');
  const { default: promises } = await import('node:timers/promises');
  const pause = promises.setTimeout;
  const told = once(process, 'SIGUSR2');
  promises.setTimeout = (ms, ...rest) => (ms === 3_600_000 ? told : pause(ms, ...rest));
  syncBuiltinESMExports();`),
};
