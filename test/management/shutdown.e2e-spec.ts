import { Agent, type IncomingMessage, get } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Balancer } from '../support/balancer.js';
import { run } from '../support/program.js';
import { expectProblem } from '../support/problem.js';
import { exchange } from '../support/raw.js';
import type { TestDatabase } from '../support/database.js';
import { RunningService, until } from '../support/service.js';
import { Traffic } from '../support/traffic.js';
import { PATHS } from '../support/paths.js';
import { undisturbed } from '../support/undisturbed.js';
import { World } from '../support/world.js';

/** Begins to read an answer; `read` reads the rest, and gives how many bytes there were. */
async function slowly(
  { service, key, token }: World,
  path: string,
): Promise<{ response: IncomingMessage; read: () => Promise<number> }> {
  const headers = { 'Api-Key': key.key, Authorization: token };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(service.url + path, { headers }, resolve).once('error', reject);
  });
  response.pause();
  return {
    response,
    async read() {
      let bytes = 0;
      for await (const chunk of response) bytes += (chunk as Buffer).length;
      return bytes;
    },
  };
}

let world: World | undefined;
const close = async (): Promise<void> => {
  await world?.close();
  world = undefined;
};
afterEach(close);

/** Draining and closing take four seconds each: what has to happen within them counts only where the machine was not away. */
const inTime =
  (
    scenario: (here: World) => Promise<void>,
    prepare?: (database: TestDatabase) => Promise<unknown>,
  ) =>
  (): Promise<void> =>
    undisturbed(async () => {
      await close();
      world = await World.create({}, prepare);
      await scenario(world);
    });

describe('SIGTERM', () => {
  it(
    'turns readiness off at once, answers on with Connection: close, and exits 0',
    inTime(async (here) => {
      const agent = new Agent({ keepAlive: true });
      const ask = (): Promise<{ status: number | undefined; connection: string | undefined }> =>
        new Promise((resolve, reject) => {
          get(
            here.service.url + PATHS.orderUpdate,
            { agent, headers: { 'Api-Key': here.key.key, Authorization: here.token } },
            (response) => {
              response
                .resume()
                .once('end', () =>
                  resolve({ status: response.statusCode, connection: response.headers.connection }),
                );
            },
          ).once('error', reject);
        });
      expect(await ask()).toEqual({ status: 200, connection: 'keep-alive' });
      here.service.signal('SIGTERM');
      await until(
        async () => (await fetch(`${here.service.managementUrl}/health/ready`)).status === 503,
      );
      const ready = await fetch(`${here.service.managementUrl}/health/ready`);
      expect(((await ready.json()) as { detail: string }).detail).toBe(
        'The service is shutting down.',
      );
      for (let count = 0; count < 50; count++)
        expect(await ask()).toEqual({ status: 200, connection: 'close' });
      expect(await here.service.exited()).toBe(0);
      agent.destroy();
    }),
  );

  it(
    'under traffic: no request fails while a balancer takes the replica out',
    inTime(async (here) => {
      const { key, token, database, issuer, service } = here;
      const other = await RunningService.start({
        DATABASE_URL: database.urlOf('order_lookup_service'),
        ...issuer.environment,
      });
      await other.ready();
      const balancer = new Balancer([service, other], 500);
      const traffic = new Traffic(balancer.target, { key: key.key, token }, { perSecond: 200 });
      try {
        service.signal('SIGTERM');
        expect(await service.exited()).toBe(0);
        const { asked, failures } = await traffic.stop();
        expect(failures).toEqual([]);
        expect(asked).toBeGreaterThan(100);
      } finally {
        balancer.stop();
        await other.kill();
      }
    }),
  );

  it(
    'cuts no answer that is being read before the closing time is over',
    inTime(
      async (here) => {
        const { response, read } = await slowly(here, PATHS.communicationCodes);
        here.service.signal('SIGTERM');
        await until(async () =>
          fetch(here.service.url).then(
            () => false,
            () => true,
          ),
        );
        expect(await read()).toBe(Number(response.headers['content-length']));
        expect(await here.service.exited()).toBe(0);
      },
      (database) =>
        database.query(
          `insert into communication_code select 'TYPE', lpad(n::text, 6, '0'), rpad('long ', 200, '.') from generate_series(1, 50000) as n`,
        ),
    ),
  );

  it(
    'answers requests that wait on a connection, and closes it after the last of them',
    inTime(async (here) => {
      here.service.signal('SIGTERM');
      await until(
        async () => (await fetch(`${here.service.managementUrl}/health/ready`)).status === 503,
      );
      const request = `GET ${PATHS.orderUpdate} HTTP/1.1\r\nHost: x\r\nApi-Key: ${here.key.key}\r\nAuthorization: ${here.token}\r\n\r\n`;
      const { responses, closed } = await exchange(here.service.port, request.repeat(3));
      expect({
        answers: responses.map(({ status, headers }) => [status, headers.get('connection')]),
        closed,
      }).toEqual({
        answers: [
          [200, 'keep-alive'],
          [200, 'keep-alive'],
          [200, 'close'],
        ],
        closed: true,
      });
    }),
  );

  it(
    'serves committed changes until the process ends',
    inTime(async (here) => {
      here.service.signal('SIGTERM');
      await here.service.waitForLog(({ msg }) => msg === 'stopping');
      await here.database.query(
        `insert into communication_code (code_type, code, description) values ('LATE', 'L1', 'Late')`,
      );
      await until(async () => (await here.get(PATHS.communicationCodes)).text.includes('LATE'));
    }),
  );

  it('a second time ends it at once', async () => {
    world = await World.create();
    world.service.signal('SIGTERM');
    await world.service.waitForLog(({ msg }) => msg === 'stopping');
    world.service.signal('SIGTERM');
    expect(await world.service.exited()).toBe(130);
  });
});

describe('SIGHUP', () => {
  it(
    'ends it in the same order',
    inTime(async (here) => {
      here.service.signal('SIGHUP');
      await until(
        async () => (await fetch(`${here.service.managementUrl}/health/ready`)).status === 503,
      );
      expect((await here.get(PATHS.orderUpdate)).headers.get('connection')).toBe('close');
      expect(await here.service.exited()).toBe(0);
    }),
  );
});

describe('the log', () => {
  it('has the line of a failed request under the id of its problem document', async () => {
    world = await World.create();
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
      status: 400,
      durationMs: expect.any(Number),
      address: '127.0.0.1',
      keyId: world.key.id,
      client: 'test',
      trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
      problem: 'invalid-query',
      msg: 'request',
    });
  });

  it('has a line for each request at the level debug', async () => {
    world = await World.create({ LOG_LEVEL: 'debug' });
    const { headers } = await world.get(PATHS.orderCaptureV2);
    const line = await world.service.waitForLog(
      ({ requestId }) => requestId === headers.get('x-request-id'),
    );
    expect(line).toMatchObject({ level: 'debug', operation: PATHS.orderCaptureV2, status: 200 });
  });
});

describe('the management port', () => {
  it('counts requests and refusals without naming a credential', async () => {
    world = await World.create();
    await world.get(PATHS.orderUpdate);
    await world.get(PATHS.orderUpdate, { headers: { 'Api-Key': 'wrong' } });
    const text = await (await fetch(`${world.service.managementUrl}/metrics`)).text();
    expect(text).toContain(
      `order_lookup_http_requests_total{operation="${PATHS.orderUpdate}",status="200"} 1`,
    );
    expect(text).toContain(
      'order_lookup_credentials_refused_total{credential="api_key",reason="unknown"} 1',
    );
    expect(text).toContain('order_lookup_database_up 1');
    expect(text).not.toContain(world.key.id);
  });

  it.each(['/', '/health', '/docs', PATHS.orderUpdate])('has nothing at %s', async (path) => {
    world = await World.create();
    expect((await fetch(world.service.managementUrl + path)).status).toBe(404);
  });
});

describe('a wrong configuration', () => {
  it('is reported completely, and ends the program with status 1', async () => {
    const { status, stdout, stderr } = await run('main.js', [], {
      PORT: 'x',
      OAUTH_ISSUER: 'http://issuer.example',
    });
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect([...stderr.matchAll(/^ {2}- (\w+) is /gm)].map(([, name]) => name)).toEqual([
      'PORT',
      'DATABASE_URL',
      'OAUTH_ISSUER',
      'OAUTH_AUDIENCE',
    ]);
  });
});
