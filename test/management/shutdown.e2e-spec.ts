// Tests signals and the end of the process. draining.e2e-spec.ts tests what callers see.
import { expect, it } from '@jest/globals';
import { preload } from '../support/preload.js';
import { run } from '../support/program.js';
import type { RunningService } from '../support/running-service.js';
import { processWorld } from '../support/test-world.js';

const world = processWorld({ replicas: 0 });

/**
 * Returns variables with which a process runs this code before it loads the service. At that time it already listens
 * for signals. SIGHUP is the last of them (process-end.ts).
 */
const runBeforeLoading = (code: string): Record<string, string> =>
  preload(`
    const { on } = process;
    process.on = function (event, ...rest) {
      if (event === 'SIGHUP') setImmediate(() => { ${code} });
      return on.call(this, event, ...rest);
    };`);

async function signalUntilEnd(service: RunningService): Promise<number | null> {
  const again = setInterval(() => service.signal('SIGTERM'), 100);
  const status = await service.waitForExit();
  clearInterval(again);
  return status;
}

it('a signal ends the process also before the service is loaded', async () => {
  const signalItself = runBeforeLoading(`process.kill(process.pid, 'SIGTERM');`);
  // Without the signal the start would end with 1, because the variables of the service are missing
  expect(await run('main.js', [], signalItself)).toMatchObject({ status: 0, stderr: '' });
});

it('a signal ends the process with 0 after the log line "stopped"', async () => {
  const service = await world.startReplica({ DRAIN_SECONDS: '0' });
  service.signal('SIGHUP');
  expect(await service.waitForExit()).toBe(0);
  const { level } = await service.waitForLog(({ msg }) => msg === 'stopped');
  expect(level).toBe('info');
});

it('a second signal is ignored within a second of the first, and later ends the process with 130', async () => {
  const service = await world.startReplica({ DRAIN_SECONDS: '3600' });
  service.signal('SIGTERM');
  service.signal('SIGTERM'); // at Ctrl-C the terminal sends the signal, and npm sends it again
  await service.waitForLog(({ msg }) => msg === 'stopping');
  expect((await service.fetchReadiness()).status).toBe(503);
  expect(await signalUntilEnd(service)).toBe(130);
});

it.each([
  { event: 'uncaughtException', fault: `throw new Error('nobody caught it')` },
  { event: 'unhandledRejection', fault: `void Promise.reject(new Error('nobody caught it'))` },
])(
  'an error that nobody caught is logged, and ends the process immediately with 1: $event',
  async ({ event, fault }) => {
    // The replica is ready, because a starting replica could log another line after the fatal line
    const service = await world.startReadyReplica({
      DRAIN_SECONDS: '3600',
      ...preload(`process.on('SIGUSR2', () => { ${fault}; });`),
    });
    service.signal('SIGUSR2');
    expect(await service.waitForExit()).toBe(1);
    const line = await service.waitForLog(({ msg }) => msg === event);
    expect(line).toMatchObject({ level: 'fatal', err: expect.stringMatching(/^Error: nobody caught it/) });
    expect(service.lines.at(-1)).toEqual(line);
  },
);

it('an error that nobody caught ends the process with 1 also while the service is being stopped', async () => {
  const fault = preload(`process.on('SIGUSR2', () => { throw new Error('nobody caught it'); });`);
  const service = await world.startReplica({ DRAIN_SECONDS: '3600', ...fault });
  service.signal('SIGTERM');
  await service.waitForLog(({ msg }) => msg === 'stopping');
  service.signal('SIGUSR2');
  expect(await service.waitForExit()).toBe(1);
});

it('before the service is loaded, the process prints an error that nobody caught, and ends with 1', async () => {
  const fail = runBeforeLoading(`throw new Error('nobody caught it');`);
  expect(await run('main.js', [], fail)).toEqual({
    status: 1,
    stdout: '',
    stderr: expect.stringMatching(/^Error: nobody caught it\n {4}at /),
  });
});
