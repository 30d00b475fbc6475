import { describe, expect, it } from '@jest/globals';
import { drainsUntilTold, preload, withoutLimits } from '../support/clocks.js';
import { PATHS } from '../support/paths.js';
import { run } from '../support/program.js';
import { Reader, requestTo } from '../support/reader.js';
import { type LogLine, type RunningService, until } from '../support/service.js';
import { Traffic } from '../support/traffic.js';
import { testWorld } from '../support/test-world.js';

const world = testWorld();

/** How long clients may continue to read, as src/http/draining.ts has it. */
const CLOSE_MS = 4_000;

const hasBegun = ({ msg }: LogLine): boolean => msg === 'stopping';

/** Whether a new connection is refused, because the port is closed. */
async function isRefused(url: string): Promise<boolean> {
  try {
    await fetch(url);
    return false;
  } catch {
    return true;
  }
}

/** A replica that has begun to end, and answers on until it is told to close by SIGUSR2. */
async function ending(signal: NodeJS.Signals): Promise<RunningService> {
  const service = await world.replica(drainsUntilTold);
  service.signal(signal);
  await service.waitForLog(hasBegun);
  return service;
}

/** Sends signals until the process has ended. */
async function insist(service: RunningService): Promise<number | null> {
  const again = setInterval(() => service.signal('SIGTERM'), 100);
  const status = await service.exited();
  clearInterval(again);
  return status;
}

describe('a signal to end', () => {
  it('counts from the first moment, before the service is loaded', async () => {
    const signalAtOnce = preload(`
      const { on } = process;
      process.on = function (event, ...rest) {
        if (event === 'SIGHUP') setImmediate(() => process.kill(process.pid, 'SIGTERM'));
        return on.call(this, event, ...rest);
      };`);
    // Once it is loaded, the start ends with 1, because the variables of the service are missing
    expect(await run('main.js', [], signalAtOnce)).toMatchObject({ status: 0, stderr: '' });
  });

  it('turns readiness off at once; requests are answered on with Connection: close; the status is 0', async () => {
    const stops = async (signal: NodeJS.Signals): Promise<void> => {
      const service = await ending(signal);
      const detail = 'The service is shutting down.';
      const { status: readiness, text } = await service.readiness();
      expect([readiness, JSON.parse(text)]).toEqual([503, expect.objectContaining({ detail })]);
      for (let count = 0; count < 10; count++) {
        const { status, headers } = await world.get(PATHS.orderUpdate, { service });
        expect([status, headers.get('connection')]).toEqual([200, 'close']);
      }
      service.signal('SIGUSR2');
      expect(await service.exited()).toBe(0);
    };
    await Promise.all([stops('SIGTERM'), stops('SIGHUP')]);
  });

  it('serves committed changes until the process ends, which a signal a second later does at once', async () => {
    const service = await ending('SIGTERM');
    service.signal('SIGTERM'); // within a second: npm passes on what the terminal has sent, too
    await world.database.addValue('Late');
    await until(async () =>
      (await world.get(PATHS.orderUpdate, { service })).text.includes('Late'),
    );
    expect(await insist(service)).toBe(130);
  });

  it('DRAIN_SECONDS is how long it answers on; KEEP_ALIVE_SECONDS how long a connection may be idle', async () => {
    const service = await world.replica({ DRAIN_SECONDS: '6', KEEP_ALIVE_SECONDS: '33' });
    const { headers } = await world.get(PATHS.orderUpdate, { service });
    expect(headers.get('keep-alive')).toBe('timeout=33');
    service.signal('SIGTERM');
    await service.exited();
    const at = (text: string): number =>
      Date.parse(service.lines.find(({ msg }) => msg === text)?.time ?? '');
    const seconds = (at('stopped') - at('stopping')) / 1000;
    expect(seconds).toBeGreaterThan(5.9); // the default would be 4
  });

  it('under traffic: no request fails while a balancer takes the replica out', async () => {
    const service = await world.replica(drainsUntilTold);
    let target = service;
    const traffic = new Traffic(() => target.url, world.credentials);
    service.signal('SIGTERM');
    await until(async () => (await service.readiness()).status === 503);
    await until(async () => traffic.asked > 100);
    target = world.service;
    await traffic.answered();
    service.signal('SIGUSR2');
    expect(await service.exited()).toBe(0);
    expect((await traffic.stop()).failures).toEqual([]);
  });

  it('answers connections that have sent nothing, or half a request, when the port is closed', async () => {
    const preloads = [drainsUntilTold, withoutLimits(CLOSE_MS)].map((each) => each.NODE_OPTIONS);
    const environment = { ...drainsUntilTold, NODE_OPTIONS: preloads.join(' ') };
    const service = await world.replica(environment);
    const request = requestTo(PATHS.orderUpdate, world.headers);
    const [silent, begun] = await Promise.all([Reader.to(service.url), Reader.to(service.url)]);
    begun.send(request.slice(0, 20));
    await until(async () => (await service.metric('order_lookup_connections')) === 2);
    service.signal('SIGTERM');
    await service.waitForLog(hasBegun);
    service.signal('SIGUSR2');
    await until(() => isRefused(service.url));
    const replies = await Promise.all([silent.ask(request), begun.ask(request.slice(20))]);
    expect(replies.map(({ status }) => status)).toEqual([200, 200]);
    expect(await service.exited()).toBe(0);
  });

  it('cuts no answer that is being read before the closing time is over', async () => {
    await world.database.query(
      `insert into communication_code
         select 'LONG', n::text, rpad('', 1000, 'x') from generate_series(1, 12000) as n`,
    );
    // Without its limit the end waits for idle connections, too
    const environment = { ...withoutLimits(CLOSE_MS), KEEP_ALIVE_SECONDS: '5' };
    const service = await world.replica({ DRAIN_SECONDS: '1', ...environment });
    const headers = { ...world.headers, 'Accept-Encoding': 'identity' };
    const response = await fetch(service.url + PATHS.communicationCodes, { headers });
    service.signal('SIGTERM');
    await until(() => isRefused(service.url));
    const { byteLength } = await response.arrayBuffer();
    expect(byteLength).toBe(Number(response.headers.get('content-length')));
    expect(await service.exited()).toBe(0);
  });
});

describe('the management port', () => {
  it.each(['/nothing', '/health', '/docs', PATHS.orderUpdate])(
    'has nothing at %s',
    async (path) => {
      expect((await fetch(world.service.managementUrl + path)).status).toBe(404);
    },
  );
});
