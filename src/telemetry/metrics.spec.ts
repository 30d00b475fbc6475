import { expect, it } from '@jest/globals';
import { Metrics } from './metrics.js';

it('1,000 clients have names, the rest are one series for each status', async () => {
  const metrics = new Metrics();
  for (const at of Array(1_200).keys()) metrics.countRequest('/a', 200, 0.1, `client ${at}`);
  await metrics.registry.metrics(); // a scrape neither loses answers nor counts them twice
  metrics.countRequest('/a', 200, 7, 'client 999');
  const text = await metrics.registry.metrics();
  expect(text.match(/client_requests_total\{/g)).toHaveLength(1_001);
  expect(text).toContain('_client_requests_total{client="client 999",status="200"} 2\n');
  expect(text).toContain('_client_requests_total{client="other",status="200"} 200\n');
  expect(text).toMatch(/{le="5",operation="\/a"} 1200\n.*le="\+Inf".* 1201\n.*_sum{.* 12[67]/);
});
