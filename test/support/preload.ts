/** Returns the environment variable that makes Node.js run this code before its program. */
export const preload = (code: string): { NODE_OPTIONS: string } => ({
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}`,
});

/** Returns the environment variable that sets the wall clock of a process ahead of the machine's clock. */
export const skewedClock = (aheadMs: number): Record<string, string> =>
  preload(`
  const Real = Date;
  globalThis.Date = class extends Real {
    constructor(...parameters) {
      if (parameters.length > 0) super(...parameters);
      else super(Real.now() + ${aheadMs});
    }
    static now() {
      return Real.now() + ${aheadMs};
    }
  };`);
