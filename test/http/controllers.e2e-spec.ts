// A controller as the manual of NestJS has it, on the real adapter between the real modules: what it returns and throws, and what is refused.
import 'reflect-metadata';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import * as nest from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { IsString } from 'class-validator';
import type { Request, Response } from 'express';
import { AppModule } from '../../src/app.module.js';
import { createApplication } from '../../src/bootstrap/create-application.js';
import { readConfiguration } from '../../src/configuration/read-configuration.js';
import { Answer } from '../../src/http/answer.js';
import { createDatabase } from '../support/database.js';
import { Issuer } from '../support/issuer.js';
import { issueKey } from '../support/keys.js';
import { type ProblemSlug, problemTypes } from '../../src/problems/problem-types.js';
import { type ProblemBody, expectProblem } from '../support/problem.js';
import { type Reply, exchange } from '../support/raw.js';
import { requestTo } from '../support/reader.js';
import { until } from '../support/service.js';

const { Body, Get, Header, HttpCode, Param, ParseIntPipe, Post, Query, Req, Res } = nest;
class Note {
  @IsString() text: string;
}

@nest.Controller('forms')
class Forms {
  @Get('object') object() {
    return { a: 1 };
  }
  @Get('text') text() {
    return 'some text';
  }
  @Get('nothing') nothing() {}
  @Get('answer') answer() {
    return Answer.of('{}');
  }
  @Get('code') @HttpCode(202) @Header('X-More', 'a') @Header('Content-Type', 'text/plain') code() {
    return 'accepted';
  }
  @Get('query') query(@Query('x') x: string, @Query() all: object) {
    return { x, all };
  }
  @Get('list/:id') param(@Param('id', ParseIntPipe) id: number) {
    return { id };
  }
  @Get('request') request(@Req() request: Request) {
    return [request.get('host'), request.path, request.ip];
  }
  @Get('passed') passed(@Res({ passthrough: true }) response: Response) {
    response.status(203).set('X-More', 'b');
    return { a: 2 };
  }
  @Get('file') file() {
    return new nest.StreamableFile(Readable.from(['a,b', '\n']), { type: 'text/csv', length: 4 });
  }
  /** The time-out of the connection while the file is read. */
  @Get('time-out') timeOut(@Req() { socket }: Request) {
    const read = function* () {
      yield String(socket.timeout);
    };
    return new nest.StreamableFile(Readable.from(read()), { length: 5 });
  }
  /** What was added to a request after its beginning. */
  @Get('added') added(@Req() request: Request) {
    const fresh = Reflect.construct(request.constructor, [request.socket]) as object;
    return Object.keys(request).filter((name) => !Object.hasOwn(fresh, name));
  }
  @Get('missing') @Header('Content-Disposition', 'attachment') missing() {
    throw new nest.NotFoundException('There is no such note.');
  }
  @Get('bad') bad() {
    throw new nest.BadRequestException(['a is wrong', 'b is wrong']);
  }
  @Get('conflict') conflict() {
    throw new nest.ConflictException();
  }
  @Get('fault') fault() {
    throw new nest.BadGatewayException('a secret');
  }
  @Post('object') add(@Body(new nest.ValidationPipe({ whitelist: true })) note: Note) {
    return note;
  }
  @Post('bodiless') bodiless() {
    done++;
    return { done: true };
  }
}

type Headers = Record<string, string>;
/** Requests a minute for each key. */
const LIMIT = 60;
const ORIGIN = 'https://a.example';
let done = 0;
let app: NestExpressApplication;
const [database, issuer] = await Promise.all([createDatabase(), Issuer.start()]);
let port: number;
let caller: Headers;
let limited: Headers;

const create = (controller: nest.Type): Promise<NestExpressApplication> => {
  nest.Module({ controllers: [controller] })(AppModule);
  const DATABASE_URL = database.urlOf('order_lookup_service');
  const more = { LOG_LEVEL: 'silent', CORS_ORIGINS: ORIGIN, RATE_LIMIT_PER_MINUTE: String(LIMIT) };
  return createApplication(readConfiguration({ DATABASE_URL, ...issuer.environment, ...more }));
};

beforeAll(async () => {
  const token = await issuer.token();
  const headersOf = async (client: string): Promise<Headers> => {
    const { key } = await issueKey(database, { client });
    return { 'Api-Key': key, Authorization: token, Origin: ORIGIN };
  };
  [caller, limited] = await Promise.all([headersOf('test'), headersOf('Limited')]);
  app = await create(Forms);
  await app.listen(0, '127.0.0.1');
  port = Number(new URL(await app.getUrl()).port);
  await until(async () => (await ask('GET answer')).status === 200);
});
afterAll(async () => {
  await app?.close();
  await Promise.all([issuer.close(), database.drop()]);
});

/** A request for a path below /forms. */
async function ask(line: string, { body = '', type = '', headers = caller } = {}) {
  const [method, path = ''] = line.split(' ');
  const fields = type && { 'Content-Type': type, 'Content-Length': String(body.length) };
  const bytes = requestTo(`/forms/${path}`, { ...headers, ...fields }, method) + body;
  return (await exchange(port, bytes, { answers: 1 })).responses[0] as Reply;
}
const JSON_TYPE = 'application/json; charset=utf-8';
const json = (body: string, type = 'application/json') => ({ body, type });

it.each<[line: string, status: number, type: string | null, text: string, body?: string]>([
  ['GET object', 200, JSON_TYPE, '{"a":1}'],
  ['GET text', 200, 'text/html; charset=utf-8', 'some text'],
  ['GET nothing', 200, null, ''],
  ['GET answer', 200, 'application/json', '{}'],
  ['GET code', 202, 'text/plain; charset=utf-8', 'accepted'],
  ['GET query?x=1&y=2', 200, JSON_TYPE, '{"x":"1","all":{"x":"1","y":"2"}}'],
  ['GET list/7', 200, JSON_TYPE, '{"id":7}'],
  ['GET request?x=1', 200, JSON_TYPE, '["127.0.0.1","/forms/request","127.0.0.1"]'],
  ['GET passed', 203, JSON_TYPE, '{"a":2}'],
  ['GET file', 200, 'text/csv', 'a,b\n'],
  ['GET added', 200, JSON_TYPE, '[]'],
  ['GET time-out', 200, 'application/octet-stream', '30000'],
  ['POST bodiless', 201, JSON_TYPE, '{"done":true}'],
  ['POST object', 201, JSON_TYPE, '{"text":"t"}', '{"text":"t","other":1}'],
])('%s is answered %i', async (...row) => {
  const [line, status, type, text, body] = row;
  const reply = await ask(line, body === undefined ? {} : json(body));
  const { headers } = reply;
  expect([reply.status, headers.get('content-type'), reply.text]).toEqual([status, type, text]);
  expect(headers.get('connection')).toBe('keep-alive');
  expect(headers.get('x-request-id')).toMatch(/^[\da-f-]{36}$/);
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('access-control-allow-origin')).toBe(ORIGIN);
  expect(headers.get('cache-control')).toMatch(line === 'GET answer' ? /private/ : /^no-store$/);
  expect(headers.get('x-more')).toBe({ 'GET code': 'a', 'GET passed': 'b' }[line] ?? null);
});

const TYPE = 'malformed-request';
it.each<[line: string, status: number, slug: string, detail: string, sent?: object]>([
  ['GET missing', 404, 'not-found', 'There is no such note.'],
  ['GET bad', 400, TYPE, 'a is wrong. b is wrong'],
  ['GET list/x', 400, TYPE, 'Validation failed (numeric string is expected)'],
  ['GET conflict', 409, 'Conflict', 'Conflict'],
  ['GET fault', 500, 'internal-error', 'An unexpected condition was met.'],
  ['POST object', 400, TYPE, 'text must be a string', json('{"text":1}')],
  ['POST object', 400, TYPE, 'The body is not valid JSON.', json('{"ols_secret')],
  ['POST object', 413, 'Payload Too Large', 'large', json(`{"text":"${'x'.repeat(2e5)}"}`)],
  ['POST object', 415, 'Unsupported Media Type', 'application/json', json('x', 'text/plain')],
  ['POST bodiless', 400, TYPE, 'The request carries a body.', json('{}')],
  ['GET object', 400, TYPE, 'The request carries a body.', json('{}')],
  ['GET bodiless', 405, 'method-not-allowed', 'POST, OPTIONS'],
  ['PUT object', 405, 'method-not-allowed', 'GET, HEAD, POST, OPTIONS'],
  ['GET object', 401, 'missing-credentials', 'credentials', { headers: {} }],
  ['POST bodiless', 401, 'missing-credentials', 'credentials', { headers: {} }],
])('%s is answered %i %s: %s', async (...row) => {
  const [line, status, slug, detail, sent] = row;
  const reply = await ask(line, sent);
  const isOurs = slug in problemTypes;
  const problem = isOurs
    ? expectProblem(reply, slug as ProblemSlug)
    : (JSON.parse(reply.text) as ProblemBody);
  if (!isOurs) expect(problem).toMatchObject({ type: 'about:blank', title: slug, status });
  expect([reply.status, problem.detail]).toEqual([status, expect.stringContaining(detail)]);
  expect(reply.headers.get('content-type')).toBe('application/problem+json');
  expect(reply.headers.get('content-disposition')).toBe(null);
  expect(reply.headers.get('allow')).toBe(status === 405 ? detail : null);
  expect(reply.text).not.toContain('secret');
});

it('HEAD has no body, OPTIONS the methods of the path, and a body leaves the connection open', async () => {
  const { headers, text } = await ask('OPTIONS object', { headers: { Origin: ORIGIN } });
  const methods = 'GET, HEAD, POST, OPTIONS';
  const names = ['allow', 'access-control-allow-methods'];
  expect([...names.map((name) => headers.get(name)), text]).toEqual([methods, methods, '']);
  const chunks = { ...caller, 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' };
  const post = `${requestTo('/forms/object', chunks, 'POST')}c\r\n{"text":"t"}\r\n0\r\n\r\n`;
  const { responses, closed } = await exchange(port, post.repeat(2), { answers: 2 });
  expect([responses.map(({ status }) => status), closed]).toEqual([[201, 201], false]);
  const file = { method: 'HEAD', headers: caller };
  const head = await fetch(`http://127.0.0.1:${port}/forms/file`, file);
  expect([head.status, head.headers.get('content-length')]).toEqual([200, '4']);
  expect(await head.text()).toBe('');
});

it('what is beyond the rate limit is never executed, and is answered 429', async () => {
  done = 0;
  const clock = jest.spyOn(performance, 'now').mockReturnValue(performance.now()); // the minute never ends
  const asked = Array.from({ length: LIMIT + 20 }, () =>
    ask('POST bodiless', { headers: limited }),
  );
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  expect([done, statuses.filter((status) => status === 201).length]).toEqual([LIMIT, LIMIT]);
  const other = { headers: { ...limited, 'If-None-Match': '"x"' } };
  for (const line of ['POST bodiless', 'POST object', 'GET object', 'GET answer'])
    expectProblem(await ask(line, other), 'too-many-requests');
  const same = await ask('GET answer', { headers: { ...limited, 'If-None-Match': '*' } });
  expect([same.status, done]).toEqual([304, LIMIT]);
  clock.mockRestore();
});

it.each([
  ['@Res', Res(), undefined],
  ['@Next', nest.Next(), undefined],
  ['@Redirect', undefined, nest.Redirect('/')],
  ['@Render', undefined, nest.Render('page')],
  ['@Sse', undefined, nest.Sse('events')],
])('%s is refused at the start, by its name', async (name, parameter, method) => {
  class Refused {
    show(_one?: unknown) {}
  }
  const show = Object.getOwnPropertyDescriptor(Refused.prototype, 'show') as PropertyDescriptor;
  nest.Controller('refused')(Refused);
  Get('x')(Refused.prototype, 'show', show);
  parameter?.(Refused.prototype, 'show', 0);
  method?.(Refused.prototype, 'show', show);
  await expect(create(Refused)).rejects.toThrow(`Refused.show uses ${name}, which`);
});
