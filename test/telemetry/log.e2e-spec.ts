import { expect, it } from '@jest/globals';
import { PATHS } from '../support/paths.js';
import { expectProblem } from '../support/problem.js';
import { exchange } from '../support/raw.js';
import { requestTo } from '../support/reader.js';
import { type RunningService, until } from '../support/service.js';
import { testWorld } from '../support/test-world.js';

const world = testWorld();
const HUNDRED_REFUSED = requestTo(PATHS.orderUpdate, {}).repeat(100);

/** A signal within a second after the first counts as the same, so they go on until the process has ended. */
function signalUntilEnd(service: RunningService): Promise<void> {
  return until(async () => {
    service.signal('SIGTERM');
    return service['child'].exitCode !== null;
  });
}

it.each([
  { reader: 'stalls', how: 'pause', signals: 1, status: 0 },
  { reader: 'stalls', how: 'pause', signals: 2, status: 130 },
  { reader: 'is gone', how: 'destroy', signals: 1, status: 0 },
] as const)(
  'a reader that $reader blocks nothing: lines are counted, and $signals signals end the process with $status',
  async ({ how, signals, status }) => {
    // Where a second signal has to end the process, its drain must not be over before
    const service = await world.replica({ DRAIN_SECONDS: signals === 2 ? '60' : '1' });
    const refuse = () => exchange(service.port, HUNDRED_REFUSED, { answers: 100 });
    const dropped = () => service.metric('order_lookup_log_lines_dropped_total');
    service['child'].stdout?.[how]();
    await until(async () => {
      await refuse();
      return (await dropped()) > 0;
    });
    const before = await dropped();
    await refuse();
    // Of a reader that stalls, the kernel may have room for a few more
    if (how === 'destroy') expect(await dropped()).toBe(before + 100);
    expect((await world.get(PATHS.orderUpdate, { service })).status).toBe(200);
    service.signal('SIGTERM');
    await until(async () => (await service.readiness()).status === 503);
    if (signals === 2) await signalUntilEnd(service);
    expect(await service.exited()).toBe(status);
  },
);

it('a process that ends has written its last line', async () => {
  const service = await world.replica({ DRAIN_SECONDS: '0' });
  service.signal('SIGTERM');
  expect(await service.exited()).toBe(0);
  expect((await service.waitForLog(({ msg }) => msg === 'stopped')).level).toBe('info');
});

it('a failed request has its line under the id of its problem document', async () => {
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  const reply = await world.get(`${PATHS.communicationCodes}?x=1`, { headers: { traceparent } });
  const { instance } = expectProblem(reply, 'invalid-query');
  const line = await world.service.waitForLog(
    ({ requestId }) => instance === `urn:uuid:${String(requestId)}`,
  );
  expect(line).toEqual({
    level: 'info',
    time: expect.stringMatching(/^\d{4}-.*Z$/),
    requestId: instance.slice(9),
    operation: PATHS.communicationCodes,
    method: 'GET',
    statusCode: 400,
    durationMs: expect.any(Number),
    address: '127.0.0.1',
    keyId: world.key.id,
    client: 'test',
    trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
    problem: 'invalid-query',
    msg: 'request',
  });
});
