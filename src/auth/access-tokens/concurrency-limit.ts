/** Limits how many tasks run at the same time. Others wait in the order of their arrival. */
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

  /** Whether one more task would be refused. */
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
