import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { Metrics } from './metrics.js';

const ANSWERED = { operation: '/a', status: 200, durationMs: 100 };

it('counts each request once, however often Prometheus scrapes', async () => {
  const metrics = new Metrics();
  metrics.observeRequest(ANSWERED);
  await metrics.registry.metrics();
  metrics.observeRequest({ ...ANSWERED, status: 404, durationMs: 7_000 });
  const text = await metrics.registry.metrics();
  const expected = [
    'order_lookup_http_requests_total{operation="/a",status="200"} 1',
    'order_lookup_http_requests_total{operation="/a",status="404"} 1',
    'order_lookup_http_request_duration_seconds_bucket{le="0.05",operation="/a"} 0',
    'order_lookup_http_request_duration_seconds_bucket{le="0.1",operation="/a"} 1',
    'order_lookup_http_request_duration_seconds_bucket{le="+Inf",operation="/a"} 2',
    'order_lookup_http_request_duration_seconds_sum{operation="/a"} 7.1',
    'order_lookup_http_request_duration_seconds_count{operation="/a"} 2',
  ];
  expect(text.split('\n')).toEqual(expect.arrayContaining(expected));
  expect(text).not.toContain('order_lookup_client_requests_total{');
});

it('counts a request whose start is not known, but records no duration for it', async () => {
  const metrics = new Metrics();
  metrics.observeRequest({ operation: undefined, status: 408, durationMs: undefined });
  const text = await metrics.registry.metrics();
  expect(text).toContain('order_lookup_http_requests_total{operation="none",status="408"} 1');
  expect(text).not.toContain('order_lookup_http_request_duration_seconds_count{');
});

it('shows 0 for each status that an alert watches, after the first request of an operation or a client', async () => {
  const rules = readFileSync('deploy/kubernetes/monitoring/prometheus-rule.yaml', 'utf8');
  const findWatched = (metric: string): string[] => {
    // Finds, for example, http_requests_total{status=~"401|403"
    const selectors = rules.matchAll(new RegExp(`${metric}\\{status=~?"([\\d|]+)"`, 'g'));
    return [...new Set(Array.from(selectors, ([, statuses = '']) => statuses.split('|')).flat())].sort();
  };
  const [ofOperations, ofClients] = ['http_requests_total', 'client_requests_total'].map(findWatched);
  expect([ofOperations, ofClients]).toEqual([
    ['401', '403', '500', '503'],
    ['401', '403'],
  ]);
  const metrics = new Metrics();
  metrics.observeRequest({ ...ANSWERED, client: 'c' });
  const text = await metrics.registry.metrics();
  for (const status of ofOperations ?? [])
    expect(text).toContain(`order_lookup_http_requests_total{operation="/a",status="${status}"} 0\n`);
  for (const status of ofClients ?? [])
    expect(text).toContain(`order_lookup_client_requests_total{client="c",status="${status}"} 0\n`);
});

it('counts durations in buckets from half a millisecond to five seconds', async () => {
  const metrics = new Metrics();
  metrics.observeRequest(ANSWERED);
  const text = await metrics.registry.metrics();
  const bounds = Array.from(text.matchAll(/duration_seconds_bucket\{le="([^"]+)"/g), ([, bound]) => bound);
  const milliseconds = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 1_000, 5_000];
  expect(bounds).toEqual([...milliseconds.map((each) => String(each / 1_000)), '+Inf']);
});

it('names 1,000 clients, and counts all others together', async () => {
  const metrics = new Metrics();
  for (let number = 0; number < 1_200; number++) {
    metrics.observeRequest({ ...ANSWERED, client: `client ${number}` });
  }
  metrics.observeRequest({ ...ANSWERED, client: 'client 999' });
  const text = await metrics.registry.metrics();
  expect(text.match(/client_requests_total\{.*status="200"/g)).toHaveLength(1_001);
  expect(text).toContain('_client_requests_total{client="client 999",status="200"} 2\n');
  expect(text).toContain('_client_requests_total{client="other",status="200"} 200\n');
});

it('reads the value of a gauge at each scrape', async () => {
  const metrics = new Metrics();
  let value = 1;
  metrics.addGauge({
    name: 'sample',
    help: 'A sample',
    labelNames: ['kind'],
    collect: (gauge) => gauge.set({ kind: 'a' }, value),
  });
  expect(await metrics.registry.metrics()).toContain('\norder_lookup_sample{kind="a"} 1\n');
  value = 2;
  expect(await metrics.registry.metrics()).toContain('\norder_lookup_sample{kind="a"} 2\n');
});
