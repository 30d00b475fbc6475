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
export const withoutLimits = (...milliseconds: number[]): { NODE_OPTIONS: string } => preload(unlimited(milliseconds));
