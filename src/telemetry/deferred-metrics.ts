// Metrics that every request updates. prom-client looks up the labels at each observation. To defer this to the next scrape, or until
// many observations have been collected, saves 0.8 µs, a twenty-fifth of the CPU time of a request.
import {
  Counter,
  type CounterConfiguration,
  Histogram,
  type HistogramConfiguration,
  type LabelValues,
} from 'prom-client';

/** Counts by the values of two labels. */
export class DeferredCounter<Label extends string> {
  private readonly rows = new Map<string, Map<number, number>>();

  constructor(configuration: CounterConfiguration<Label> & { labelNames: readonly Label[] }) {
    const [one = '', two = ''] = configuration.labelNames;
    const counter = new Counter({
      ...configuration,
      collect: () => {
        for (const [first, row] of this.rows)
          for (const [second, count] of row) {
            counter.inc({ [one]: first, [two]: second } as LabelValues<Label>, count);
            row.set(second, 0);
          }
      },
    });
  }

  /** The number of values of the first label. */
  get size(): number {
    return this.rows.size;
  }

  has(first: string): boolean {
    return this.rows.has(first);
  }

  inc(first: string, second: number): void {
    let row = this.rows.get(first);
    if (!row) this.rows.set(first, (row = new Map()));
    row.set(second, (row.get(second) ?? 0) + 1);
  }
}

const MOST_DEFERRED = 256;

/** Observations by the value of one label. */
export class DeferredHistogram<Label extends string> {
  private readonly histogram: Histogram<Label>;
  private readonly values = new Map<string, number[]>();

  constructor(
    private readonly configuration: HistogramConfiguration<Label> & {
      labelNames: readonly Label[];
    },
  ) {
    this.histogram = new Histogram({
      ...configuration,
      collect: () => this.values.forEach((values, label) => this.flush(label, values)),
    });
  }

  observe(label: string, value: number): void {
    let values = this.values.get(label);
    if (!values) this.values.set(label, (values = []));
    if (values.push(value) === MOST_DEFERRED) this.flush(label, values);
  }

  private flush(label: string, values: number[]): void {
    const [name = ''] = this.configuration.labelNames;
    for (const value of values)
      this.histogram.observe({ [name]: label } as LabelValues<Label>, value);
    values.length = 0;
  }
}
