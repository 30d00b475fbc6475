import { expect, it } from '@jest/globals';
import { Metrics } from './metrics.js';

it('1,000 clients have names, the rest are one series for each status', async () => {
  const metrics = new Metrics();
  for (const at of Array(1_200).keys()) metrics.countRequest('/a', 200, 0.1, `client ${at}`);
  metrics.countRequest('/a', 200, 0.1, 'client 0');
  const { values } = await metrics.clientRequests.get();
  expect(values).toHaveLength(1_001);
  const of = (name: string) => values.find(({ labels: { client } }) => client === name)?.value;
  const counts = ['client 0', 'client 999', 'other', 'client 1000'].map(of);
  expect(counts).toEqual([2, 1, 200, undefined]);
});
