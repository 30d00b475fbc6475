import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { Configuration } from '../configuration/configuration.js';
import { Metrics } from '../telemetry/metrics.js';
import type { HealthService } from './health.service.js';
import { ManagementServer } from './management.server.js';
import { fetchReply } from '../../test/support/exchange.js';
import { nextEvent } from '../../test/support/waiting.js';

let metrics: Metrics;
let unavailableReasons: string[];
let management: ManagementServer;
let url: string;
let errors: unknown[];
beforeEach(async () => {
  errors = [];
  metrics = new Metrics();
  Logger.overrideLogger({
    error: (entry: unknown) => void errors.push(entry),
    log: () => undefined,
    warn: () => undefined,
  });
  unavailableReasons = [];
  const health = {
    get unavailableReasons() {
      return unavailableReasons;
    },
  } as unknown as HealthService;
  management = new ManagementServer(health, new Configuration(), metrics);
  management.server.listen(0, '127.0.0.1');
  await nextEvent(management.server, 'listening');
  url = `http://127.0.0.1:${(management.server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  const closing = nextEvent(management.server, 'close');
  management.close();
  await closing;
});

it.each([
  { path: '/health/live', type: 'application/json', body: /^\{"status":"ok"\}$/ },
  { path: '/health/ready', type: 'application/json', body: /^\{"status":"ok"\}$/ },
  { path: '/metrics?ignored', type: 'text/plain; version=0.0.4; charset=utf-8', body: /^# HELP order_lookup_/ },
])('$path is answered with 200, and no cache may keep the answer', async ({ path, type, body }) => {
  const response = await fetchReply(url + path);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe(type);
  expect(response.headers.get('cache-control')).toBe('no-store');
  expect(response.text).toMatch(body);
});

it('a replica that is not ready names all reasons, and asks to come back after 1 to 3 seconds', async () => {
  unavailableReasons = ['No codes yet.', 'No keys yet.'];
  const response = await fetchReply(`${url}/health/ready`);
  expect(response.status).toBe(503);
  expect(response.headers.get('retry-after')).toMatch(/^[123]$/);
  const id = response.headers.get('x-request-id');
  expect(JSON.parse(response.text)).toMatchObject({
    type: '/problems/not-ready',
    detail: 'No codes yet. No keys yet.',
    instance: `urn:uuid:${id}`,
  });
});

it('another path is not found, and the answer names the paths', async () => {
  const response = await fetchReply(`${url}/metric`);
  expect(response.status).toBe(404);
  expect(JSON.parse(response.text)).toMatchObject({ detail: 'There are /health/live, /health/ready and /metrics.' });
});

it('if a gauge throws, the log has its error, and the answer does not repeat the error', async () => {
  metrics.addGauge({
    name: 'broken',
    help: 'Throws',
    collect: () => {
      throw new Error('a secret');
    },
  });
  const response = await fetchReply(`${url}/metrics`);
  expect(response.status).toBe(500);
  expect(JSON.parse(response.text)).toMatchObject({
    type: '/problems/internal-error',
    detail: 'The metrics cannot be collected.',
  });
  expect(response.text).not.toContain('a secret');
  expect(errors).toEqual([{ message: 'the metrics cannot be collected', error: new Error('a secret') }]);
});
