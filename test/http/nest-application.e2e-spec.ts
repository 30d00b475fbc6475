// Tests AppModule together with NotesModule, which is like the examples of Nest's manual. In NotesModule, decorators of
// Nest and the requests and responses of Express work as usual. Every exception becomes a problem document.
import 'reflect-metadata';
import { EventEmitter, once } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as nest from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Test } from '@nestjs/testing';
import { IsString } from 'class-validator';
import type { NextFunction, Request, Response } from 'express';
import { type Observable, map, of } from 'rxjs';
import { AppModule } from '../../src/app.module.js';
import { Public } from '../../src/auth/public.decorator.js';
import { readConfiguration } from '../../src/configuration/read-configuration.js';
import { Answer } from '../../src/http/answer.js';
import { ServerAdapter } from '../../src/http/server.adapter.js';
import type { ProblemSlug } from '../../src/problems/problem-types.js';
import { ServiceLogger } from '../../src/telemetry/service-logger.js';
import { createDatabase } from '../support/database.js';
import { Issuer } from '../support/issuer.js';
import { issueKey } from '../support/api-keys.js';
import { type ProblemBody, expectProblem } from '../support/problem.js';
import { type Reply, exchange, fetchReply } from '../support/exchange.js';
import { JsonBodyInterceptor } from '../support/json-body.interceptor.js';
import { readBlocks } from '../support/pages.js';
import { readText } from '../support/program.js';
import { requestTo } from '../support/reader.js';
import { until } from '../support/until.js';
import { nextEvent } from '../support/waiting.js';

const { Body, Get, Header, HttpCode, Param, ParseIntPipe, Post, Query, Req, Res } = nest;

class Note {
  @IsString() text: string;
}

class WrapInterceptor implements nest.NestInterceptor {
  intercept(_context: nest.ExecutionContext, next: nest.CallHandler) {
    return next.handle().pipe(map((data: unknown) => ({ data })));
  }
}

/** Emits `begin` when `GET /notes/slow` begins. The test emits `end` when this request may end. */
const slow = new EventEmitter();
/** The number of executed calls of `POST /notes/counted/NAME`, by NAME. Each test uses another NAME. */
const counts = new Map<string, number>();

@nest.Controller('notes')
class NotesController {
  @Get() list() {
    return [{ text: 'a' }];
  }
  @Get('text') text() {
    return 'some text';
  }
  @Get('nothing') nothing() {}
  @Get('answer') answer() {
    return new Answer(Buffer.from('{}'));
  }
  @Get('slow') async slow() {
    slow.emit('begin');
    await once(slow, 'end');
    return {};
  }
  @Get('code') @HttpCode(202) @Header('X-More', 'a') code() {
    return { isAccepted: true };
  }
  @Get('query') query(@Query('x') x: string, @Query() all: object) {
    return { x, all };
  }
  @Get('number/first') first() {
    return { isFirst: true };
  }
  @Get('number/:id') number(@Param('id', ParseIntPipe) id: number) {
    return { id };
  }
  @Get('request') request(@Req() request: Request) {
    return [request.get('host'), request.path, request.ip, request.header('x-by-middleware')];
  }
  @Get('response') response(@Res() response: Response) {
    response.status(203).json({ isExpress: true });
  }
  @Get('passed') passed(@Res({ passthrough: true }) response: Response) {
    response.status(203);
    return { isPassed: true };
  }
  @Get('moved') @nest.Redirect('/notes', 301) moved() {}
  @Get('wrapped') @nest.UseInterceptors(WrapInterceptor) wrapped() {
    return 'inner';
  }
  @nest.Sse('events') events(): Observable<nest.MessageEvent> {
    return of({ data: 'first' }, { data: 'second' });
  }
  @nest.Version('2') @Get('versioned') versioned() {
    return { version: 2 };
  }
  @Public() @Get('open') open() {
    return { isOpen: true };
  }
  @Get('file') file() {
    return new nest.StreamableFile(Readable.from(['a,b', '\n']), { type: 'text/csv', length: 4 });
  }
  @Get('unreadable-file')
  @Header('Content-Disposition', 'attachment')
  @Header('Content-Encoding', 'identity')
  @Header('ETag', '"of the file"')
  @Header('Last-Modified', 'Mon, 30 Nov 2026 00:00:00 GMT')
  unreadableFile() {
    const stream = new PassThrough();
    setImmediate(() => stream.destroy(new Error('a secret')));
    return new nest.StreamableFile(stream, { type: 'text/csv', length: 4 });
  }
  @Get('cut-file') cutFile() {
    const stream = new PassThrough();
    stream.write('a,b', () => setImmediate(() => stream.destroy(new Error('a secret'))));
    return new nest.StreamableFile(stream, { type: 'text/csv', length: 4 });
  }
  @Get('missing') missing() {
    throw new nest.NotFoundException('There is no such note.');
  }
  @Get('bad') bad() {
    throw new nest.BadRequestException(['a is wrong', 'b is wrong']);
  }
  @Get('conflict') conflict() {
    throw new nest.ConflictException();
  }
  @Get('failure/:status') failure(@Param('status', ParseIntPipe) status: number) {
    throw new nest.HttpException('a secret', status);
  }
  @Get('fault') fault() {
    throw new Error('a secret');
  }
  @Post() @nest.UseInterceptors(JsonBodyInterceptor) add(
    @Body(new nest.ValidationPipe({ whitelist: true })) note: Note,
  ) {
    return note;
  }
  @Post('counted/:name') count(@Param('name') name: string) {
    counts.set(name, (counts.get(name) ?? 0) + 1);
    return {};
  }
}

@nest.Controller({ path: 'notes/of-another-host', host: 'another.example' })
class OtherHostController {
  @Get() list() {
    return [];
  }
}

@nest.Module({ controllers: [NotesController, OtherHostController] })
class NotesModule implements nest.NestModule {
  configure(consumer: nest.MiddlewareConsumer): void {
    const markRequest = (request: Request, _response: Response, next: NextFunction): void => {
      request.headers['x-by-middleware'] = 'marked';
      next();
    };
    consumer.apply(markRequest).forRoutes(NotesController);
  }
}
const REQUESTS_PER_MINUTE = 80; // more than all other tests send with their key
const ORIGIN = 'https://a.example';

type Headers = Record<string, string>;
let app: NestExpressApplication;
const errorLines: unknown[] = [];
let base: string;
let caller: Headers;
let limitedCaller: Headers;
const [database, issuer] = await Promise.all([createDatabase(), Issuer.start()]);

beforeAll(async () => {
  const token = await issuer.createToken();
  const headersOf = async (client: string): Promise<Headers> => {
    const { key } = await issueKey(database, { client });
    return { 'Api-Key': key, Authorization: token, Origin: ORIGIN };
  };
  caller = await headersOf('test');
  limitedCaller = await headersOf('Limited');
  const configuration = readConfiguration({
    DATABASE_URL: database.urlOf('order_lookup_service'),
    ...issuer.environment,
    LOG_LEVEL: 'error',
    CORS_ORIGINS: ORIGIN,
    RATE_LIMIT_PER_MINUTE: String(REQUESTS_PER_MINUTE),
  });
  const testingModule = await Test.createTestingModule({
    imports: [AppModule.forRoot(configuration), NotesModule],
  }).compile();
  app = testingModule.createNestApplication<NestExpressApplication>(new ServerAdapter(configuration));
  Object.assign(app.get(ServiceLogger), { error: (entry: unknown) => errorLines.push(entry) });
  app.enableVersioning({ type: nest.VersioningType.URI });
  await app.listen(0, '127.0.0.1');
  base = await app.getUrl();
  await until(async () => (await ask({ path: '/notes/answer' })).status === 200);
});
afterAll(async () => {
  await app?.close();
  await Promise.all([issuer.close(), database.drop()]);
});

interface TestRequest {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Headers;
  /** The type of the body, if it is not JSON. */
  readonly type?: string;
  readonly body?: string;
}

async function ask({ path, method, headers = caller, body, type }: TestRequest): Promise<Reply> {
  const content: Headers = body === undefined ? {} : { 'Content-Type': type ?? 'application/json' };
  const options = { method: method ?? 'GET', headers: { ...headers, ...content }, body };
  return fetchReply(base + path, { ...options, redirect: 'manual' });
}

const JSON_TYPE = 'application/json; charset=utf-8';

describe('the application answers', () => {
  interface AnswerCase extends TestRequest {
    readonly status?: number;
    readonly contentType?: string | null;
    readonly text: string;
  }
  const CASES: readonly AnswerCase[] = [
    { path: '/notes', text: '[{"text":"a"}]' },
    { path: '/notes/text', contentType: 'text/html; charset=utf-8', text: 'some text' },
    { path: '/notes/nothing', contentType: null, text: '' },
    { path: '/notes/answer', contentType: 'application/json', text: '{}' },
    { path: '/notes/code', status: 202, text: '{"isAccepted":true}' },
    { path: '/notes/query?x=1&y=a+b', text: '{"x":"1","all":{"x":"1","y":"a b"}}' },
    { path: '/notes/number/7', text: '{"id":7}' },
    { path: '/notes/number/first', text: '{"isFirst":true}' },
    { path: '/notes/response', status: 203, text: '{"isExpress":true}' },
    { path: '/notes/passed', status: 203, text: '{"isPassed":true}' },
    { path: '/notes/wrapped', text: '{"data":"inner"}' },
    { path: '/v2/notes/versioned', text: '{"version":2}' },
    { path: '/notes/open', headers: {}, text: '{"isOpen":true}' },
    { path: '/notes/file', contentType: 'text/csv', text: 'a,b\n' },
    {
      path: '/notes',
      method: 'POST',
      status: 201,
      body: '{"text":"t","x":1}',
      text: '{"text":"t"}',
    },
  ];
  it.each(CASES.map((each) => ({ method: 'GET', ...each })))('$method $path', async (each) => {
    const { status = 200, contentType = JSON_TYPE, text, ...request } = each;
    const reply = await ask(request);
    const { headers } = reply;
    expect([reply.status, headers.get('content-type'), reply.text]).toEqual([status, contentType, text]);
    expect(headers.get('x-request-id')).toMatch(/^[\da-f-]{36}$/);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    const isAnswer = request.path === '/notes/answer'; // caches may store only an `Answer`
    expect(headers.get('cache-control')).toMatch(isAnswer ? /^private/ : /^no-store$/);
    const sendsOrigin = request.headers === undefined; // then `ask` sends the headers of `caller`
    if (sendsOrigin) expect(headers.get('access-control-allow-origin')).toBe(ORIGIN);
  });

  it('with a redirection', async () => {
    const { status, headers } = await ask({ path: '/notes/moved' });
    expect([status, headers.get('location')]).toEqual([301, '/notes']);
  });

  it('with server-sent events', async () => {
    const { headers, text } = await ask({ path: '/notes/events' });
    expect(headers.get('content-type')).toBe('text/event-stream');
    expect(text).toMatch(/data: first\n\n.*data: second\n\n/s);
  });

  it('after it has run the middleware of the module', async () => {
    const { host } = new URL(base);
    const { text } = await ask({ path: '/notes/request?x=1' });
    expect(JSON.parse(text)).toEqual([host, '/notes/request', '127.0.0.1', 'marked']);
  });

  it('HEAD without a body, and OPTIONS with the methods of the path', async () => {
    const head = await ask({ path: '/notes/file', method: 'HEAD' });
    expect([head.status, head.headers.get('content-length'), head.text]).toEqual([200, '4', '']);
    const options = await ask({ path: '/notes', method: 'OPTIONS', headers: {} });
    const { status, headers, text } = options;
    expect([status, headers.get('allow'), text]).toEqual([204, 'GET, POST, HEAD, OPTIONS', '']);
  });
});

describe('the application answers with a problem document', () => {
  const UNEXPECTED = 'An unexpected condition was met. The log has it under the id of this occurrence.';
  const LARGE = `{"text":"${'x'.repeat(200_000)}"}`;
  interface ProblemCase extends TestRequest {
    readonly slug?: ProblemSlug;
    readonly title?: string;
    readonly status?: number;
    readonly detail: string;
  }
  const CASES: readonly ProblemCase[] = [
    { path: '/notes/missing', slug: 'not-found', detail: 'There is no such note.' },
    { path: '/notes/bad', slug: 'malformed-request', detail: 'a is wrong. b is wrong' },
    { path: '/notes/number/x', slug: 'malformed-request', detail: 'numeric string is expected' },
    {
      path: '/notes/number/%zz',
      slug: 'malformed-request',
      detail: 'percent-encoding of the path',
    },
    { path: '/notes/conflict', title: 'Conflict', status: 409, detail: 'Conflict' },
    { path: '/notes/failure/500', slug: 'internal-error', detail: UNEXPECTED },
    { path: '/notes/failure/501', title: 'Not Implemented', status: 501, detail: UNEXPECTED },
    { path: '/notes/failure/502', title: 'Bad Gateway', status: 502, detail: UNEXPECTED },
    { path: '/notes/failure/503', title: 'Service Unavailable', status: 503, detail: UNEXPECTED },
    { path: '/notes/failure/504', title: 'Gateway Timeout', status: 504, detail: UNEXPECTED },
    { path: '/notes/failure/599', title: 'Error', status: 599, detail: UNEXPECTED },
    { path: '/notes/failure/1000', slug: 'internal-error', detail: UNEXPECTED }, // 1000 is no status of HTTP
    { path: '/notes/fault', slug: 'internal-error', detail: UNEXPECTED },
    { path: '/notes/unreadable-file', slug: 'internal-error', detail: UNEXPECTED },
    {
      path: '/notes',
      method: 'PUT',
      slug: 'method-not-allowed',
      detail: 'GET, POST, HEAD, OPTIONS',
    },
    { path: '/notes/x', slug: 'not-found', detail: 'There is nothing at this address.' },
    { path: '/notes/of-another-host', slug: 'not-found', detail: 'There is nothing at this address.' },
    { path: '/notes', headers: {}, slug: 'missing-credentials', detail: 'lacks credentials' },
  ];
  it.each(CASES.map((each) => ({ method: 'GET', ...each })))('$method $path', async (each) => {
    const { slug, title, status, detail, ...request } = each;
    const reply = await ask(request);
    if (slug) {
      expect(expectProblem(reply, slug, /./).detail).toContain(detail);
    } else {
      const type = 'about:blank';
      expect(reply.headers.get('content-type')).toBe('application/problem+json');
      expect(JSON.parse(reply.text)).toMatchObject({ type, title, status, detail });
    }
    const ofFile = ['content-disposition', 'content-encoding', 'etag', 'last-modified'];
    expect(ofFile.filter((name) => reply.headers.has(name))).toEqual([]);
    expect(reply.text).not.toContain('secret');
  });

  it.each<{ name: string; body: string; type?: string; status: number; detail: string }>([
    { name: 'a wrong member', body: '{"text":1}', status: 400, detail: 'text must be a string' },
    { name: 'malformed JSON', body: '{"ols_secret', status: 400, detail: 'The body is not valid JSON.' },
    { name: 'more than 16 kB', body: LARGE, status: 413, detail: 'request entity too large' },
    { name: 'another content type', body: 'x', type: 'text/plain', status: 400, detail: 'text must be' },
  ])('to a body with $name', async ({ body, type, status, detail }) => {
    const reply = await ask({ path: '/notes', method: 'POST', body, type });
    const problem = JSON.parse(reply.text) as ProblemBody;
    expect([reply.status, problem.status]).toEqual([status, status]);
    expect(problem.detail).toContain(detail);
    expect(reply.text).not.toContain('secret');
  });
});

it('Node.js creates requests and responses with the prototypes that Express sets', async () => {
  const express = app.getHttpAdapter().getInstance();
  const prototypes: unknown[] = [];
  // This listener runs before Express
  app.getHttpServer().prependOnceListener('request', (request: object, response: object) => {
    prototypes.push(Object.getPrototypeOf(request), Object.getPrototypeOf(response));
  });
  expect((await ask({ path: '/notes/text' })).status).toBe(200);
  const [ofRequest, ofResponse] = prototypes;
  expect([ofRequest === express.request, ofResponse === express.response]).toEqual([true, true]);
});

it('the body of a caller without credentials is not parsed', async () => {
  const reply = await ask({ path: '/notes', method: 'POST', headers: {}, body: 'no JSON' });
  expectProblem(reply, 'missing-credentials');
});

it('CONTRIBUTING.md shows json-body.interceptor.ts in the recipe for a route with a body', () => {
  const [recipe] = readBlocks('CONTRIBUTING.md').filter(({ heading }) => heading === 'A route with a body');
  expect(recipe?.text).toBe(readText('test/support/json-body.interceptor.ts'));
});

it('the log contains the message of an exception whose answer is a 503', async () => {
  const { headers } = await ask({ path: '/notes/failure/503' });
  const error = expect.objectContaining({ message: 'a secret' });
  const line = expect.objectContaining({ requestId: headers.get('x-request-id'), statusCode: 503, error });
  await until(async () => errorLines.some((entry) => line.asymmetricMatch(entry)));
});

it('a request that follows a request with Connection: close never runs', async () => {
  const last = requestTo('/notes', { ...caller, Connection: 'close' });
  const next = requestTo('/notes/counted/after-close', caller, 'POST');
  const { responses } = await exchange(Number(new URL(base).port), requestTo('/notes', caller) + last + next);
  expect(responses).toHaveLength(2);
  expect((await ask({ path: '/notes' })).status).toBe(200); // by now `next` would have run
  expect(counts.has('after-close')).toBe(false);
});

it('garbage after a slow request cuts the connection, so that no client takes a 400 for the slow answer', async () => {
  const beginning = nextEvent(slow, 'begin');
  const garbage = exchange(Number(new URL(base).port), [requestTo('/notes/slow', caller), 'garbage\r\n\r\n']);
  await beginning;
  expect(await garbage).toEqual({ responses: [], closed: true });
  slow.emit('end');
  expect((await ask({ path: '/notes' })).status).toBe(200);
});

it('if a file fails while it is sent, the connection is cut immediately', async () => {
  const response = await fetch(`${base}/notes/cut-file`, { headers: caller });
  expect(response.status).toBe(200);
  const startedAtMs = performance.now();
  await expect(response.text()).rejects.toThrow();
  // After STALL_TIMEOUT_MS, which is longer, Node.js would cut the connection in any case
  expect(performance.now() - startedAtMs).toBeLessThan(30_000);
  const error = expect.objectContaining({ message: 'a secret' });
  const line = expect.objectContaining({ operation: '/notes/cut-file', statusCode: 200, error });
  await until(async () => errorLines.some((entry) => line.asymmetricMatch(entry)));
});

it('a request beyond the rate limit is never executed', async () => {
  const request = { path: '/notes/counted/limited', method: 'POST', headers: limitedCaller };
  const replies = await Promise.all(Array.from({ length: REQUESTS_PER_MINUTE + 20 }, () => ask(request)));
  const accepted = replies.filter(({ status }) => status === 201);
  expect([counts.get('limited'), accepted.length]).toEqual([REQUESTS_PER_MINUTE, REQUESTS_PER_MINUTE]);
});
