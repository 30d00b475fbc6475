const program = (milliseconds: number): string => `
  const Real = Date;
  globalThis.Date = class extends Real {
    constructor(...given) {
      if (given.length > 0) super(...given);
      else super(Real.now() + ${milliseconds});
    }
    static now() {
      return Real.now() + ${milliseconds};
    }
  };`;

/** Environment of a process whose wall clock is that many milliseconds ahead of the machine's. */
export const skewedClock = (milliseconds: number): Record<string, string> => ({
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(program(milliseconds))}`,
});
