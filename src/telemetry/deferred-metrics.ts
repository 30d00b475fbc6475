// Metrics that every request updates. prom-client looks up the labels at each observation, which costs as much as routing a request. Here
// the lookup is deferred to the next scrape, or until many observations have been collected.
import {
  Counter,
  type CounterConfiguration,
  Histogram,
  type HistogramConfiguration,
  type LabelValues,
} from 'prom-client';

/** Counts for one set of labels. */
export class Tally {
  private count = 0;

  inc(): void {
    this.count++;
  }

  /** The count since the previous call. */
  take(): number {
    const { count } = this;
    this.count = 0;
    return count;
  }
}

export class DeferredCounter<Label extends string> {
  private readonly tallies: (readonly [LabelValues<Label>, Tally])[] = [];

  constructor(configuration: CounterConfiguration<Label>) {
    const counter = new Counter({
      ...configuration,
      collect: () => {
        for (const [labels, tally] of this.tallies) counter.inc(labels, tally.take());
      },
    });
  }

  /** The caller keeps the result: each call creates a new one. */
  labels(labels: LabelValues<Label>): Tally {
    const tally = new Tally();
    this.tallies.push([labels, tally]);
    return tally;
  }
}

/** Tallies by the values of two labels, each created when it is first needed. */
export class TallyTable<Second extends string | number> {
  private readonly rows = new Map<string, Map<Second, Tally>>();

  constructor(private readonly create: (first: string, second: Second) => Tally) {}

  /** The number of values of the first label. */
  get size(): number {
    return this.rows.size;
  }

  has(first: string): boolean {
    return this.rows.has(first);
  }

  inc(first: string, second: Second): void {
    let row = this.rows.get(first);
    if (!row) this.rows.set(first, (row = new Map()));
    let tally = row.get(second);
    if (!tally) row.set(second, (tally = this.create(first, second)));
    tally.inc();
  }
}

const MOST_DEFERRED = 256;

/** Values observed for one set of labels. */
export class Observations {
  private readonly values = new Float64Array(MOST_DEFERRED);
  private count = 0;

  constructor(private readonly passOn: (value: number) => void) {}

  observe(value: number): void {
    this.values[this.count++] = value;
    if (this.count === MOST_DEFERRED) this.flush();
  }

  flush(): void {
    this.values.subarray(0, this.count).forEach(this.passOn);
    this.count = 0;
  }
}

export class DeferredHistogram<Label extends string> {
  private readonly histogram: Histogram<Label>;
  private readonly observations: Observations[] = [];

  constructor(configuration: HistogramConfiguration<Label>) {
    this.histogram = new Histogram({
      ...configuration,
      collect: () => {
        for (const ofLabels of this.observations) ofLabels.flush();
      },
    });
  }

  /** The caller keeps the result: each call creates a new one. */
  labels(labels: LabelValues<Label>): Observations {
    const ofLabels = new Observations((value) => this.histogram.observe(labels, value));
    this.observations.push(ofLabels);
    return ofLabels;
  }
}
