import type { Readable } from 'node:stream';
import { expect, it } from '@jest/globals';
import { PASSWORD } from '../support/database.js';
import { localWorld } from '../support/local-world.js';
import { PATHS } from '../support/paths.js';
import { expectProblem } from '../support/problem.js';
import { PROJECT, startProgram } from '../support/program.js';
import { WAIT_LIMIT_MS, nextEvent } from '../support/waiting.js';

const world = localWorld({ replicas: 0 });

/** A program that logs until lines are dropped, and then 100 lines more. It prints how many of the 100 were dropped. */
const LOGGING_PROGRAM = `
  import { setImmediate as turn } from 'node:timers/promises';
  import { Configuration } from './dist/configuration/configuration.js';
  import { Metrics } from './dist/telemetry/metrics.js';
  import { ServiceLogger } from './dist/telemetry/service-logger.js';
  const metrics = new Metrics();
  const logger = new ServiceLogger(new Configuration(), metrics);
  const dropped = async () => (await metrics.logLinesDropped.get()).values[0].value;
  let logged = 0;
  const log = async () => {
    if (++logged > 20_000) process.exit(1); // no line was dropped
    logger.log({ message: 'x'.repeat(10_000) });
    await turn();
  };
  while ((await dropped()) === 0) await log();
  const before = await dropped();
  for (let line = 0; line < 100; line++) await log();
  process.stderr.write(String((await dropped()) - before));
  logger.fatal({ message: 'the end' });
  await logger.flush();
  process.exit(0);`;

it.each([
  { reader: 'stalls', act: 'pause' },
  { reader: 'is gone', act: 'destroy' },
] as const)('if the reader of the log $reader, logging goes on: lines are dropped and counted', async ({ act }) => {
  const words = ['--import=reflect-metadata', '--input-type=module', '--eval', LOGGING_PROGRAM];
  const { child, output } = startProgram([process.execPath, ...words], PROJECT, {});
  child.stdout?.[act]();
  const printed = nextEvent(child.stderr as Readable, 'end');
  // If the reader blocked the program, the program would never end. So it is killed before the wait for its end fails
  setTimeout(() => child.kill('SIGKILL'), WAIT_LIMIT_MS - 5_000).unref();
  expect(await nextEvent(child, 'exit')).toEqual([0, null]);
  await printed;
  // Not all 100 lines are dropped, because the buffers of the kernel and of a paused reader may still take some
  expect(Number(output.stderr)).toBeGreaterThan(50);
});

it('a failed request has one log line, with the id of its problem document', async () => {
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  const service = await world.startReadyReplica({ DRAIN_SECONDS: '0' });
  const reply = await world.get(`${PATHS.communicationCodes}?x=1`, { service, headers: { traceparent } });
  const { instance } = expectProblem(reply, 'invalid-query');
  await service.end(); // after the end there are no more lines
  const lines = service.lines.filter(({ requestId }) => instance === `urn:uuid:${String(requestId)}`);
  expect(lines).toEqual([
    {
      level: 'info',
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      requestId: instance.replace('urn:uuid:', ''),
      operation: PATHS.communicationCodes,
      method: 'GET',
      statusCode: 400,
      durationMs: expect.any(Number),
      address: '127.0.0.1',
      keyId: world.key.id,
      client: 'test',
      tokenClient: 'tests',
      trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
      problem: 'invalid-query',
      msg: 'request',
    },
  ]);
});

it.each([
  { place: 'the path', request: () => ({ path: `/${world.key.key}/${world.token}` }) },
  { place: 'the query', request: () => ({ path: `${PATHS.communicationCodes}?${world.key.key}=${world.token}` }) },
  {
    place: 'the other credential header',
    request: () => ({ headers: { 'Api-Key': world.token, Authorization: world.key.key } }),
  },
  { place: 'X-Request-Id', request: () => ({ headers: { 'X-Request-Id': world.key.key } }) },
  { place: 'X-Forwarded-For', request: () => ({ headers: { 'X-Forwarded-For': world.key.key } }) },
  {
    place: 'headers of other names',
    request: () => {
      const { key } = world.key;
      return { headers: { traceparent: world.token, 'User-Agent': key, 'X-Api-Key': key, Cookie: key } };
    },
  },
])(
  'neither the log at any level nor the answer contains a part of a credential that a caller sends in $place',
  async ({ request }) => {
    const service = await world.startReadyReplica({ LOG_LEVEL: 'trace', TRUSTED_PROXY_HOPS: '1', DRAIN_SECONDS: '0' });
    const { path = PATHS.orderUpdate, headers } = request() as { path?: string; headers?: Record<string, string> };
    const reply = await world.get(path, { service, ...(headers && { headers }) });
    const requestId = reply.headers.get('x-request-id');
    await service.end();
    expect(service.lines.filter((line) => line['requestId'] === requestId)).toHaveLength(1);
    const { key } = world.key;
    const parts = [key.slice(0, 20), key.slice(-20), ...world.token.split('.'), PASSWORD];
    const said = `${service.output}${reply.text}${JSON.stringify([...reply.headers])}`;
    for (const part of parts) expect(said).not.toContain(part);
  },
);
