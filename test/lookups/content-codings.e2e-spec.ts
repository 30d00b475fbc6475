// Large answers in content codings (RFC 9110 sections 8.4 and 12.5.3).
import { once } from 'node:events';
import { type IncomingHttpHeaders, request } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { localWorld } from '../support/local-world.js';
import { PATHS } from '../support/paths.js';
import { entityTagOf } from '../support/traffic.js';
import { until } from '../support/until.js';

const LIST = PATHS.communicationCodes;
const CODINGS = ['gzip', 'br'];
const ALL = ['identity', ...CODINGS];
const VARY = 'Accept-Encoding';
const SOON = `clock_timestamp() + interval '1 s'`;

interface Reply {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  /** As it came, not decoded. */
  readonly body: Buffer;
  readonly coding: string;
}

/** Twenty records of this code type that make an answer of so many bytes. */
function recordsOf(bytes: number): string {
  const records = Array.from({ length: 20 }, (_, at) => ({
    codeType: String(bytes),
    code: `C${at + 10}`,
    description: 'x'.repeat(760),
  }));
  const missing = bytes - JSON.stringify({ communicationRecords: records }).length;
  return records
    .map((row, at) => `('${bytes}', '${row.code}', '${row.description}${at ? '' : 'x'.repeat(missing)}')`)
    .join();
}

const world = localWorld({
  prepare: (database) =>
    database.query(
      `insert into communication_code
         select 'LARGE', 'C' || n, 'Sample: code number ' || n from generate_series(1, 1000) as n;
       insert into communication_code values ${recordsOf(16_384)}, ${recordsOf(16_383)}`,
    ),
});

async function ask(
  path: string,
  coding?: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<Reply> {
  const accepted = coding === undefined ? {} : { 'Accept-Encoding': coding };
  const all = { ...world.headers, ...accepted, ...headers };
  const sent = request(world.service.url + path, { method, headers: all }).end();
  const [response] = await once(sent, 'response');
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return {
    status: response.statusCode,
    headers: response.headers,
    body: Buffer.concat(chunks),
    coding: response.headers['content-encoding'] ?? 'identity',
  };
}

function textOf({ coding, body }: Reply): string {
  const decode = { gzip: gunzipSync, br: brotliDecompressSync }[coding];
  return (decode ? decode(body) : body).toString();
}
const tagIn = (coding: string, { body }: Reply): string =>
  entityTagOf(body).replace(/"$/, coding === 'identity' ? '"' : `-${coding}"`);

/** Asks until every coding of the present content has been made. */
async function codingsOf(path: string): Promise<void> {
  for (const coding of CODINGS) await until(async () => (await ask(path, coding)).coding === coding);
}

describe.each([LIST, `${LIST}?codeType=LARGE`])('GET %s', (path) => {
  it.each(ALL)('in %s has its own length and entity tag, and ignores Range', async (coding) => {
    await codingsOf(path);
    const plain = await ask(path);
    const reply = await ask(path, coding);
    const expected = {
      status: 200,
      coding,
      headers: {
        'content-type': 'application/json',
        'content-length': String(reply.body.length),
        etag: tagIn(coding, plain),
        vary: VARY,
        'cache-control': 'private, max-age=0, stale-if-error=86400',
      },
    };
    expect(reply).toMatchObject(expected);
    expect(textOf(reply) === plain.body.toString()).toBe(true);
    if (coding !== 'identity') expect(reply.body.length * 4).toBeLessThan(plain.body.length);
    const head = await ask(path, coding, {}, 'HEAD');
    expect(head).toMatchObject({ ...expected, body: Buffer.alloc(0) });
    const range = await ask(path, coding, { Range: 'bytes=0-9' });
    expect([range.status, range.body.equals(reply.body)]).toEqual([200, true]);
  });

  it('gives 304 for the tag of what would be sent, also a weak one and in a list, and 200 for others', async () => {
    const plain = await ask(path);
    for (const coding of ALL) {
      const etag = tagIn(coding, plain);
      for (const named of [etag, `W/${etag}`, `"other", W/${etag} , "another"`, '*'])
        for (const method of ['GET', 'HEAD']) {
          const reply = await ask(path, coding, { 'If-None-Match': named }, method);
          expect(reply).toMatchObject({ status: 304, headers: { etag, vary: VARY } });
          expect([reply.coding, reply.body.length]).toEqual(['identity', 0]);
        }
      for (const other of ALL.filter((each) => each !== coding))
        expect((await ask(path, other, { 'If-None-Match': etag })).status).toBe(200);
    }
    const etag = tagIn('identity', plain);
    for (const named of [etag.replace(/"$/, '-deflate"'), `${etag}-gzip`, etag.slice(1, -1), ''])
      expect((await ask(path, undefined, { 'If-None-Match': named })).status).toBe(200);
  });
});

describe('Accept-Encoding', () => {
  beforeAll(() => codingsOf(LIST));

  it.each([
    { accepted: 'gzip', coding: 'gzip' },
    { accepted: 'GZIP', coding: 'gzip' },
    { accepted: 'gzip, deflate, br, zstd', coding: 'gzip' },
    { accepted: 'br;q=1.0, gzip;q=0.8, *;q=0.1', coding: 'br' },
    { accepted: 'gzip;q=0.5,br;q=0.6', coding: 'br' },
    { accepted: '*', coding: 'gzip' },
    { accepted: '*, gzip;q=0', coding: 'br' },
    { accepted: 'identity;q=0, br', coding: 'br' },
    { accepted: 'gzip;q=0', coding: 'identity' },
    { accepted: 'gzip;q=0.5, identity', coding: 'identity' },
    { accepted: 'deflate, zstd', coding: 'identity' },
    { accepted: '', coding: 'identity' },
    { accepted: 'identity;q=0', coding: 'identity' },
    { accepted: '*;q=0', coding: 'identity' },
    { accepted: ',;q=, gzip q, =;;"', coding: 'identity' },
    { accepted: 'x'.repeat(10_000), coding: 'identity' },
    { accepted: ',gzip;q=0'.repeat(1_000), coding: 'identity' },
  ])('$accepted is answered in $coding', async ({ accepted, coding }) => {
    expect(await ask(LIST, accepted)).toMatchObject({ status: 200, coding });
  });
});

describe('the size from which answers have codings', () => {
  it.each([
    { bytes: '16384', hasCodings: true },
    { bytes: '16383', hasCodings: false },
  ])('$bytes bytes: $hasCodings', async ({ bytes, hasCodings }) => {
    const path = `${LIST}?codeType=${bytes}`;
    const plain = await ask(path);
    expect(plain.headers).toMatchObject({ 'content-length': bytes, vary: VARY });
    const known = { 'If-None-Match': plain.headers.etag ?? '' };
    const again = await ask(path, 'identity', known, 'HEAD');
    expect(again).toMatchObject({ status: 304, headers: { vary: VARY } });
    if (hasCodings) await codingsOf(path);
    for (const coding of CODINGS) {
      expect((await ask(path, coding)).coding).toBe(hasCodings ? coding : 'identity');
      const { status } = await ask(path, coding, { 'If-None-Match': tagIn(coding, plain) });
      expect(status).toBe(hasCodings ? 304 : 200);
    }
  });
});

it.each([
  {
    text: 'A change',
    sql: `update communication_code set description = 'A change' where code = 'C7'`,
  },
  {
    text: 'A moment',
    sql: `insert into communication_code values ('LARGE', 'M', 'A moment', ${SOON})`,
  },
])('$text gives every coding a new content and tag', async ({ text, sql }) => {
  await codingsOf(LIST);
  const tags = new Map<string, string>();
  for (const coding of ALL) tags.set(coding, (await ask(LIST, coding)).headers.etag ?? '');
  await world.database.query(sql);
  for (const coding of ALL) await until(async () => textOf(await ask(LIST, coding)).includes(`"${text}"`));
  await codingsOf(LIST);
  const plain = await ask(LIST);
  for (const [coding, former] of tags) {
    const now = await ask(LIST, coding, { 'If-None-Match': former });
    expect(now).toMatchObject({ status: 200, headers: { etag: tagIn(coding, plain) } });
    expect(textOf(now) === plain.body.toString()).toBe(true);
  }
});
