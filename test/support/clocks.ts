/** Environment of a process that runs this program before its own. */
export const preload = (program: string): { NODE_OPTIONS: string } => ({
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(program)}`,
});

/** Environment of a process whose wall clock is that many milliseconds ahead of the machine's. */
export const skewedClock = (milliseconds: number): Record<string, string> =>
  preload(`
  const Real = Date;
  globalThis.Date = class extends Real {
    constructor(...given) {
      if (given.length > 0) super(...given);
      else super(Real.now() + ${milliseconds});
    }
    static now() {
      return Real.now() + ${milliseconds};
    }
  };`);

/** Environment of a process whose monotonic clock runs so many times faster than the machine's, and with it its timers of a minute or more. */
export const fastClock = (times: number): Record<string, string> => ({
  ...preload(`
  const [now, timer] = [performance.now.bind(performance), setTimeout];
  Object.defineProperty(performance, 'now', { value: () => now() * ${times} });
  const faster = (work, ms, ...rest) => timer(work, ms >= 60_000 ? ms / ${times} : ms, ...rest);
  globalThis.setTimeout = Object.assign(faster, timer);`),
  API_KEY_MAX_AGE_SECONDS: String(24 * 3_600),
});

/** Environment of a process whose sockets time out that many times sooner. */
export const hastySockets = (times: number): { NODE_OPTIONS: string } =>
  preload(`
  const { Socket } = await import('node:net');
  const { setTimeout } = Socket.prototype;
  Socket.prototype.setTimeout = function (ms, ...rest) {
    return setTimeout.call(this, ms / ${times}, ...rest);
  };`);
