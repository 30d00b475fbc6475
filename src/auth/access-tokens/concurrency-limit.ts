/** Lets some pieces of work run at a time while others wait, first come first served. */
export class ConcurrencyLimit {
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  /**
   * @param atOnce how many run at a time
   * @param most how many may wait
   */
  constructor(
    private readonly atOnce: number,
    private readonly most: number,
  ) {}

  /** Whether one more would have to be turned away. */
  get isFull(): boolean {
    return this.waiting.length >= this.most;
  }

  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.running >= this.atOnce)
      await new Promise<void>((resolve) => void this.waiting.push(resolve));
    else this.running++;
    try {
      return await work();
    } finally {
      const next = this.waiting.shift();
      if (next) next();
      else this.running--;
    }
  }
}
