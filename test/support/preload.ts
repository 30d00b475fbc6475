/** Returns the variables with which Node.js runs this code before its program. */
export const preload = (code: string): { NODE_OPTIONS: string } => ({
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}`,
});

/** Returns the variables with which the wall clock of a process is this many milliseconds ahead of the machine's. */
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
