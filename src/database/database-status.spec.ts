import { beforeEach, expect, it } from '@jest/globals';
import { Metrics } from '../telemetry/metrics.js';
import { DatabaseStatus } from './database-status.js';

let metrics: Metrics;
let status: DatabaseStatus;

beforeEach(() => {
  metrics = new Metrics();
  status = new DatabaseStatus(metrics);
});

async function expectUp(isUp: boolean): Promise<void> {
  expect(status.isUp).toBe(isUp);
  expect(await metrics.registry.metrics()).toContain(`\norder_lookup_database_up ${isUp ? 1 : 0}\n`);
}

it('is away before the first answer', async () => {
  await expectUp(false);
  status.unanswered('codes');
  await expectUp(false);
});

it('is there while one part gets answers, and away when none does', async () => {
  status.answered('codes');
  status.answered('keys');
  status.unanswered('codes');
  await expectUp(true);
  status.answered('codes');
  status.unanswered('keys');
  await expectUp(true);
  status.unanswered('codes');
  await expectUp(false);
});
