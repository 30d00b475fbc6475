import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from '@jest/globals';
import { run } from '../support/program.js';
import { World } from '../support/world.js';

const worlds: World[] = [];
afterAll(() => Promise.all(worlds.map((world) => world.close())));

describe('the address in the line of a request', () => {
  it.each<[string, [forwarded: string | undefined, address: string][]]>([
    ['0', [['192.0.2.1', '127.0.0.1']]],
    [
      '1',
      [
        [undefined, '127.0.0.1'],
        ['192.0.2.1', '192.0.2.1'],
        ['198.51.100.7, 2001:db8::1', '2001:db8::1'],
        ['a secret', '127.0.0.1'],
      ],
    ],
    ['2', [['203.0.113.9, 198.51.100.7, 192.0.2.1', '198.51.100.7']]],
  ])('with TRUSTED_PROXY_HOPS=%s', async (TRUSTED_PROXY_HOPS, cases) => {
    const world = await World.create({ TRUSTED_PROXY_HOPS });
    worlds.push(world);
    for (const [forwarded, address] of cases) {
      const id = randomUUID();
      const headers = { 'X-Request-Id': id, 'X-Forwarded-For': forwarded };
      await world.get('/nothing', { headers });
      const line = await world.service.waitForLog(({ requestId }) => requestId === id);
      expect(line['address']).toBe(address);
    }
  });
});

describe('the management port', () => {
  it('answers /metrics with a query', async () => {
    const [{ service }] = worlds as [World];
    expect((await fetch(`${service.managementUrl}/metrics?x=1`)).status).toBe(200);
  });
});

describe('a Node.js that is too old', () => {
  const OLD = `--import=data:text/javascript,${encodeURIComponent(`Object.defineProperty(process.versions, 'node', { value: '20.18.3' })`)}`;

  it.each(['main.js', 'doctor.js', 'codes.js', 'keys.js', 'migrate.js'])(
    'ends %s with one sentence',
    async (program) => {
      expect(await run(program, ['--help'], { NODE_OPTIONS: OLD })).toEqual({
        status: 1,
        stdout: '',
        stderr: 'Node.js 20.18.3 is too old: version 20.19 or later is needed.\n',
      });
    },
  );
});
