import { describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { DeferredCounter, DeferredHistogram } from './deferred-metrics.js';

const linesOf = async (registry: Registry): Promise<string[]> =>
  (await registry.metrics()).split('\n').filter((line) => !line.startsWith('#'));

describe('deferred metrics count everything before a scrape, once', () => {
  it('counts', async () => {
    const registry = new Registry();
    const counter = new DeferredCounter({
      name: 'answers',
      help: 'Answers',
      labelNames: ['route', 'status'],
      registers: [registry],
    });
    for (let times = 0; times < 3; times++) counter.inc('/', 200);
    expect(await linesOf(registry)).toEqual(['answers{route="/",status="200"} 3', '']);
    counter.inc('/', 200);
    counter.inc('/', 401);
    const lines = ['answers{route="/",status="200"} 4', 'answers{route="/",status="401"} 1', ''];
    expect(await linesOf(registry)).toEqual(lines);
    expect(await linesOf(registry)).toEqual(lines);
  });

  it.each([1, 255, 256, 257, 1_000])('%i observations', async (count) => {
    const registry = new Registry();
    const histogram = new DeferredHistogram({
      name: 'time',
      help: 'Time',
      labelNames: ['of'],
      buckets: [1, 2],
      registers: [registry],
    });
    for (let times = 0; times < count; times++) histogram.observe('a', times % 2 === 0 ? 0.5 : 1.5);
    const lines = [
      `time_bucket{le="1",of="a"} ${Math.ceil(count / 2)}`,
      `time_count{of="a"} ${count}`,
    ];
    expect(await linesOf(registry)).toEqual(expect.arrayContaining(lines));
    expect(await linesOf(registry)).toEqual(expect.arrayContaining(lines));
  });
});
