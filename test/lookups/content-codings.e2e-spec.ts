// Large answers in content codings (RFC 9110 sections 8.4 and 12.5.3).
import { once } from 'node:events';
import { type IncomingHttpHeaders, request } from 'node:http';
import { connect } from 'node:net';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { PATHS } from '../support/paths.js';
import { exchange } from '../support/raw.js';
import { until } from '../support/service.js';
import { entityTagOf } from '../support/traffic.js';
import { World } from '../support/world.js';

const LIST = PATHS.communicationCodes;
const FILTERED = `${LIST}?codeType=LARGE`;
const CODINGS = ['gzip', 'br'];

interface Reply {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  /** As it came, not decoded. */
  readonly body: Buffer;
}

/** Twenty records of this code type that make an answer of so many bytes. */
function recordsOf(bytes: number): string {
  const numbers = Array.from({ length: 20 }, (_, at) => at + 10);
  const recordWith = (description: string, number: number): object => ({
    codeType: String(bytes),
    code: `C${number}`,
    description,
  });
  const empty = { communicationRecords: numbers.map((number) => recordWith('', number)) };
  const missing = bytes - JSON.stringify(empty).length;
  const share = Math.floor(missing / numbers.length);
  return numbers
    .map((number, at) => {
      const length = at > 0 ? share : missing - share * (numbers.length - 1);
      return `('${bytes}', 'C${number}', '${'x'.repeat(length)}')`;
    })
    .join();
}

let world: World;
beforeAll(async () => {
  world = await World.create({}, (database) =>
    database.query(
      `insert into communication_code select 'LARGE', 'C' || n, 'Sample: code number ' || n from generate_series(1, 1000) as n;
       insert into communication_code values ${recordsOf(16_384)}, ${recordsOf(16_383)}`,
    ),
  );
});
afterAll(() => world?.close());

const ask = (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const { service, key, token } = world;
    const all = { 'Api-Key': key.key, Authorization: `Bearer ${token}`, ...headers };
    const sent = request(service.url + path, { method, headers: all }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk)).once('error', reject);
      response.once('end', () => {
        const { statusCode: status, headers: received } = response;
        resolve({ status, headers: received, body: Buffer.concat(chunks) });
      });
    });
    sent.once('error', reject).end();
  });

const codingOf = ({ headers }: Reply): string => headers['content-encoding'] ?? 'identity';
const decoded = (reply: Reply): string => {
  const { [codingOf(reply)]: decode } = {
    identity: (body: Buffer) => body,
    gzip: gunzipSync,
    br: brotliDecompressSync,
  } as Record<string, (body: Buffer) => Buffer>;
  return decode?.(reply.body).toString() ?? '';
};
const tagIn = (coding: string, identity: Reply): string =>
  entityTagOf(identity.body).replace(/"$/, coding === 'identity' ? '"' : `-${coding}"`);
const accepting = (coding: string): Record<string, string> => ({ 'Accept-Encoding': coding });

/** Asks until every coding of the present content has been made. */
async function codingsOf(path: string): Promise<void> {
  for (const coding of CODINGS)
    await until(async () => codingOf(await ask(path, accepting(coding))) === coding);
}

describe.each([LIST, FILTERED])('GET %s', (path) => {
  it('answers at once, with identity until a coding has been made', async () => {
    for (const coding of CODINGS) {
      const reply = await ask(path, accepting(coding));
      expect(['identity', coding]).toContain(codingOf(reply));
      expect(decoded(reply)).toContain('"C1000"');
    }
  });

  it.each([...CODINGS, 'identity'])('in %s has its own length and entity tag', async (coding) => {
    await codingsOf(path);
    const plain = await ask(path);
    const reply = await ask(path, accepting(coding));
    const expected = {
      status: 200,
      'content-type': 'application/json',
      'content-length': String(reply.body.length),
      etag: tagIn(coding, plain),
      vary: 'Accept-Encoding',
      'cache-control': 'private, max-age=0, stale-if-error=86400',
    };
    expect({ ...reply.headers, status: reply.status }).toMatchObject(expected);
    expect(codingOf(reply)).toBe(coding);
    expect(decoded(reply) === plain.body.toString()).toBe(true);
    if (coding !== 'identity') expect(reply.body.length * 4).toBeLessThan(plain.body.length);
    const head = await ask(path, accepting(coding), 'HEAD');
    expect({ ...head.headers, status: head.status }).toMatchObject(expected);
    expect([codingOf(head), head.body.length]).toEqual([coding, 0]);
  });

  it('gives 304 for the tag of any coding, also a weak one and in a list, whatever the caller accepts', async () => {
    const plain = await ask(path);
    for (const tagged of ['identity', ...CODINGS]) {
      const etag = tagIn(tagged, plain);
      for (const named of [etag, `W/${etag}`, `"other", W/${etag} , "another"`])
        for (const accepted of ['', 'identity', 'gzip', 'br', '*;q=0'])
          for (const method of ['GET', 'HEAD']) {
            const headers = { 'If-None-Match': named, ...accepting(accepted) };
            const { status, headers: received, body } = await ask(path, headers, method);
            expect({
              status,
              etag: received.etag,
              vary: received.vary,
              coding: received['content-encoding'],
              body: body.length,
            }).toEqual({ status: 304, etag, vary: 'Accept-Encoding', coding: undefined, body: 0 });
          }
    }
  });

  it('gives 200 for a tag that no representation has', async () => {
    const etag = tagIn('identity', await ask(path));
    for (const named of [etag.replace(/"$/, '-deflate"'), `${etag}-gzip`, etag.slice(1, -1), ''])
      expect((await ask(path, { 'If-None-Match': named })).status).toBe(200);
  });

  it('ignores Range in every coding', async () => {
    await codingsOf(path);
    for (const coding of ['identity', ...CODINGS]) {
      const whole = await ask(path, accepting(coding));
      const reply = await ask(path, { ...accepting(coding), Range: 'bytes=0-9' });
      expect([reply.status, reply.body.equals(whole.body)]).toEqual([200, true]);
    }
  });
});

describe('Accept-Encoding', () => {
  beforeAll(() => codingsOf(LIST));

  it.each([
    ['gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['gzip, deflate, br, zstd', 'gzip'],
    ['br;q=1.0, gzip;q=0.8, *;q=0.1', 'br'],
    ['gzip;q=0.5,br;q=0.6', 'br'],
    ['*', 'gzip'],
    ['*, gzip;q=0', 'br'],
    ['identity;q=0, br', 'br'],
    ['gzip;q=0', 'identity'],
    ['gzip;q=0.5, identity', 'identity'],
    ['deflate, zstd', 'identity'],
    ['', 'identity'],
    ['identity;q=0', 'identity'],
    ['*;q=0', 'identity'],
    [',;q=, gzip q, =;;"', 'identity'],
  ])('%j is answered in %s', async (accepted, coding) => {
    const reply = await ask(LIST, accepting(accepted));
    expect([reply.status, codingOf(reply)]).toEqual([200, coding]);
  });

  it('may be long', async () => {
    for (const accepted of ['x'.repeat(10_000), ',gzip;q=0'.repeat(1_000)])
      expect(codingOf(await ask(LIST, accepting(accepted)))).toBe('identity');
  });

  it('is answered in one of the codings with the largest quality value, by chance', async () => {
    const coding = fc.constantFrom('gzip', 'br', 'identity', 'deflate', 'zstd');
    const entries = fc.uniqueArray(fc.tuple(coding, fc.integer({ min: 0, max: 1000 })), {
      selector: ([name]) => name,
      minLength: 1,
    });
    const isOffered = ([name]: readonly [string, number]): boolean =>
      ['gzip', 'br', 'identity'].includes(name);
    await fc.assert(
      fc.asyncProperty(entries, async (all) => {
        const header = all.map(([name, q]) => `${name};q=${(q / 1000).toFixed(3)}`).join(', ');
        const largest = Math.max(...all.filter(isOffered).map(([, q]) => q));
        const best = all.filter((entry) => isOffered(entry) && entry[1] === largest && largest > 0);
        const names = best.length > 0 ? best.map(([name]) => name) : ['identity'];
        expect(names).toContain(codingOf(await ask(LIST, accepting(header))));
      }),
    );
  });
});

describe('the size from which answers have codings', () => {
  it.each([
    ['16384', ['gzip', 'br']],
    ['16383', []],
  ])('%s bytes: %j', async (type, codings) => {
    const path = `${LIST}?codeType=${type}`;
    const plain = await ask(path);
    expect(plain.headers).toMatchObject({ 'content-length': type, vary: 'Accept-Encoding' });
    if (codings.length > 0) await codingsOf(path);
    for (const coding of CODINGS) {
      expect(codingOf(await ask(path, accepting(coding)))).toBe(
        codings.includes(coding) ? coding : 'identity',
      );
      const { status } = await ask(path, { 'If-None-Match': tagIn(coding, plain) });
      expect(status).toBe(codings.includes(coding) ? 304 : 200);
    }
  });

  it.each(['?code=none', '?codeType=SAMPLE-STATUS'])(
    'a small answer says that it varies: %s',
    async (query) => {
      for (const method of ['GET', 'HEAD']) {
        const { headers } = await ask(LIST + query, accepting('gzip'), method);
        expect([headers.vary, headers['content-encoding']]).toEqual(['Accept-Encoding', undefined]);
        const known = { 'If-None-Match': headers.etag ?? '' };
        expect(await ask(LIST + query, known, method)).toMatchObject({
          status: 304,
          headers: { vary: 'Accept-Encoding' },
        });
      }
    },
  );
});

describe('a change', () => {
  const changed = async (sql: string, text: string): Promise<void> => {
    await codingsOf(LIST);
    const before = await Promise.all(
      ['identity', ...CODINGS].map((coding) => ask(LIST, accepting(coding))),
    );
    await world.database.query(sql);
    for (const coding of ['identity', ...CODINGS])
      await until(async () => decoded(await ask(LIST, accepting(coding))).includes(text));
    await codingsOf(LIST);
    const plain = await ask(LIST);
    for (const [at, coding] of ['identity', ...CODINGS].entries()) {
      const former = before[at]?.headers.etag ?? '';
      const now = await ask(LIST, { ...accepting(coding), 'If-None-Match': former });
      expect([now.status, now.headers.etag]).toEqual([200, tagIn(coding, plain)]);
      expect(decoded(now) === plain.body.toString()).toBe(true);
    }
  };

  it('gives every coding a new content and tag', () =>
    changed(
      `update communication_code set description = 'Changed' where code = 'C7'`,
      '"Changed"',
    ));

  it('at a moment does so too', () =>
    changed(
      `insert into communication_code (code_type, code, description, valid_from) values ('LARGE', 'MOMENT', 'Begun', clock_timestamp() + interval '1 s')`,
      '"Begun"',
    ));
});

/** Sends a request, and is gone soon after. */
function leave(port: number, bytes: string): Promise<unknown> {
  const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
  socket.on('error', () => undefined);
  setTimeout(() => socket.destroy(), 5);
  return once(socket, 'close');
}

describe('clients that go away', () => {
  it('leave the others their answers, in order, while codings are being made', async () => {
    const { database, key, token, service } = world;
    const asking = (path: string, fields: string): string =>
      `GET ${path} HTTP/1.1\r\nHost: x\r\nApi-Key: ${key.key}\r\nAuthorization: ${token}\r\n${fields}\r\n\r\n`;
    const pipelined = CODINGS.flatMap((coding) => [
      asking(LIST, `Accept-Encoding: ${coding}`),
      asking(PATHS.orderUpdate, `Accept-Encoding: ${coding}`),
    ]);
    for (let turn = 0; turn < 5; turn++) {
      await database.query(
        `update communication_code set description = 'Turn ${turn}' where code = 'C${turn}'`,
      );
      const gone = Array.from({ length: 20 }, () => leave(service.port, pipelined[0] as string));
      const { responses, closed } = await exchange(
        service.port,
        pipelined.join('') + asking(PATHS.orderCaptureV2, 'Connection: close'),
      );
      const types = responses.map(({ headers }) => headers.get('vary'));
      expect(types).toEqual(['Accept-Encoding', null, 'Accept-Encoding', null, null]);
      expect(closed).toBe(true);
      await Promise.all(gone);
      await codingsOf(LIST);
    }
  });
});
