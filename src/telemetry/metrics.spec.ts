import { expect, it } from '@jest/globals';
import { Metrics } from './metrics.js';

it('1,000 clients have names, the rest are one series for each status', async () => {
  const metrics = new Metrics();
  for (const at of Array(1_200).keys()) metrics.countRequest('/a', 200, 0.1, `client ${at}`);
  metrics.countRequest('/a', 200, 7, 'client 0');
  const lines = (await metrics.registry.metrics()).split('\n');
  const series = lines.filter((line) => line.startsWith('order_lookup_client_requests_total{'));
  expect(series).toHaveLength(1_001);
  const of = (name: string) =>
    series
      .find((line) => line.includes(`"${name}"`))
      ?.split(' ')
      .at(-1);
  expect([of('client 999'), of('other'), of('client 1000')]).toEqual(['1', '200', undefined]);
  const bucket = 'order_lookup_http_request_duration_seconds_bucket{le=';
  for (const [le, count] of Object.entries({ 0.05: 0, 0.1: 1_200, 5: 1_200, '+Inf': 1_201 }))
    expect(lines).toContain(`${bucket}"${le}",operation="/a"} ${count}`);
});
