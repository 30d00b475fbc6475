import { createRequire } from 'node:module';
import { afterAll, expect, it } from '@jest/globals';
import { Collector } from '../support/collector.js';
import { fetchReply } from '../support/exchange.js';
import { PATHS } from '../support/paths.js';
import { readText } from '../support/program.js';
import { processWorld } from '../support/test-world.js';

const [, disabled = 'nothing'] = /`OTEL_NODE_DISABLED_INSTRUMENTATIONS=(.*)`/.exec(readText('docs/operators.md')) ?? [];
/** So many requests that the service polls its database several times meanwhile. */
const REQUESTS = 30;
const collector = await Collector.start();
const world = processWorld({
  environment: {
    ...collector.environment,
    // A platform with auto-instrumentation adds this variable to its containers
    NODE_OPTIONS: `--require ${createRequire(import.meta.url).resolve('@opentelemetry/auto-instrumentations-node/register')}`,
    OTEL_NODE_DISABLED_INSTRUMENTATIONS: disabled,
    OTEL_METRICS_EXPORTER: 'none',
    OTEL_LOGS_EXPORTER: 'none',
  },
});
afterAll(() => collector.close());

it("if auto-instrumentation is limited as docs/operators.md says, only the service's own spans are made", async () => {
  // The loop waits for each span. Meanwhile the service polls its database, and no poll may make a span
  for (let count = 1; count <= REQUESTS; count += 1) {
    await world.get(PATHS.orderUpdate);
    await fetchReply(`${world.service.managementUrl}/health/ready`);
    await collector.received(count, ({ name }) => name === `GET ${PATHS.orderUpdate}`);
  }
  const names = new Set(collector.spans.map(({ name }) => name));
  expect([...names]).toEqual(['GET /openapi.json', `GET ${PATHS.orderUpdate}`]);
  expect(collector.spans).toHaveLength(1 + REQUESTS); // the world reads the contract once
});
