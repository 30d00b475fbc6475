// Answers are counted here, and prom-client gets the numbers on each scrape: it finds a series by a text that it makes of the labels each time.
// With that a 200 takes 11 % more CPU time.
import { Counter, type CounterConfiguration, type Metric } from 'prom-client';

/** Upper bounds of the durations that are counted together, in seconds. */
const BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];

type Durations = { readonly counts: number[]; sum: number };

/** A counter with the label `status` and one before it. */
export class AnswerCounter extends Counter {
  private readonly counts = new Map<string, Map<number, number>>();

  /** @param most how many values have a name, the rest are `other` */
  count(value: string, status: number, most = Infinity): void {
    const name = this.counts.has(value) || this.counts.size < most ? value : 'other';
    const byStatus = this.counts.get(name) ?? new Map<number, number>();
    if (byStatus.size === 0) this.counts.set(name, byStatus);
    byStatus.set(status, (byStatus.get(status) ?? 0) + 1);
  }

  collect(): void {
    this.reset();
    for (const [name, byStatus] of this.counts)
      for (const [status, count] of byStatus) this.labels(name, String(status)).inc(count);
  }
}

/** A histogram of durations by operation, in the form in which prom-client takes those of its own. */
export class DurationHistogram {
  private readonly series = new Map<string, Durations>();

  constructor({ name, help, registers }: CounterConfiguration<string>) {
    const valuesOf = ([operation, { counts, sum }]: [string, Durations]) => {
      let value = 0;
      const buckets = counts.map((count, at) => {
        const labels = { le: BOUNDS[at] ?? '+Inf', operation };
        return { metricName: `${name}_bucket`, labels, value: (value += count) };
      });
      const labels = { operation };
      const total = { metricName: `${name}_sum`, labels, value: sum };
      return [...buckets, total, { metricName: `${name}_count`, labels, value }];
    };
    const values = () => [...this.series].flatMap(valuesOf);
    const metric = { name, get: () => ({ name, help, type: 'histogram', values: values() }) };
    registers?.[0]?.registerMetric(metric as unknown as Metric);
  }

  observe(operation: string, seconds: number): void {
    let series = this.series.get(operation);
    if (!series) this.series.set(operation, (series = { counts: [...BOUNDS, 0].fill(0), sum: 0 }));
    const bound = BOUNDS.findIndex((most) => seconds <= most);
    const at = bound < 0 ? BOUNDS.length : bound;
    series.counts[at] = (series.counts[at] ?? 0) + 1;
    series.sum += seconds;
  }
}
