export interface LogLine {
  readonly level: string;
  /** ISO 8601, in UTC. */
  readonly time: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** The log of a service so far, and to come. */
export class ServiceLog {
  private readonly known: LogLine[] = [];
  private readonly unparsed: string[] = [];
  private readonly watchers = new Set<() => void>();

  add(line: LogLine): void {
    this.known.push(line);
    this.notify();
  }

  /** Lines of JSON. They are read when somebody looks, since there may be very many. */
  addTexts(texts: readonly string[]): void {
    this.unparsed.push(...texts);
    this.notify();
  }

  get lines(): readonly LogLine[] {
    for (const text of this.unparsed.splice(0)) this.known.push(JSON.parse(text) as LogLine);
    return this.known;
  }

  /** Resolves with the first line, past or to come, that fits. */
  waitFor(fits: (line: LogLine) => boolean): Promise<LogLine> {
    return new Promise((resolve) => {
      const look = (): void => {
        const line = this.lines.find(fits);
        if (!line) return;
        this.watchers.delete(look);
        resolve(line);
      };
      this.watchers.add(look);
      look();
    });
  }

  private notify(): void {
    for (const look of this.watchers) look();
  }
}
