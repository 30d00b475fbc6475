// Tests the paths of all routes, and which routes a caller without credentials may use. TestModule adds controllers
// with each form of `@Public()`.
import 'reflect-metadata';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Controller, Get, type LoggerService, Module, Post } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { AppModule } from '../../src/app.module.js';
import { Public } from '../../src/auth/public.decorator.js';
import { readConfiguration } from '../../src/configuration/read-configuration.js';
import { ServerAdapter } from '../../src/http/server.adapter.js';
import { ALL_PATHS } from '../support/paths.js';
import { expectProblem } from '../support/problem.js';
import { type Reply, fetchReply } from '../support/exchange.js';

/** The reply of an operation to a caller without credentials. */
interface Answered {
  /** The method and the path, such as `GET /docs`. */
  readonly operation: string;
  readonly reply: Reply;
}

const BASE_PATH = '/lookups';
const OPEN_OPERATIONS = [
  'GET /',
  `GET ${BASE_PATH}`,
  `GET ${BASE_PATH}/docs`,
  `GET ${BASE_PATH}/docs/:name`,
  `GET ${BASE_PATH}/openapi-3.0.json`,
  `GET ${BASE_PATH}/openapi.json`,
  `GET ${BASE_PATH}/problems/:slug`,
];
const GUARDED_OPERATIONS = ALL_PATHS.map((path) => `GET ${BASE_PATH}${path}`);
const OPEN_OPERATIONS_OF_TEST = ['GET /open', 'POST /open', 'GET /unmarked/open'];
const GUARDED_OPERATIONS_OF_TEST = [
  'GET /open/closed',
  'POST /open/closed',
  'GET /unmarked',
  'POST /unmarked',
  'GET /closed',
];

@Public()
@Controller('open')
class OpenController {
  @Get() get() {}
  @Post() post() {}
  @Public(false) @Get('closed') getClosed() {}
  @Public(false) @Post('closed') postClosed() {}
}

@Controller('unmarked')
class UnmarkedController {
  @Get() get() {}
  @Post() post() {}
  @Public(true) @Get('open') getOpen() {}
}

@Public(false)
@Controller('closed')
class ClosedController {
  @Get() get() {}
}

@Module({ controllers: [OpenController, UnmarkedController, ClosedController] })
class TestModule {}

const unreachableUrl = 'http://127.0.0.1:9';
const configuration = readConfiguration({
  DATABASE_URL: 'postgres://127.0.0.1:9/none',
  OAUTH_ISSUER: unreachableUrl,
  OAUTH_AUDIENCE: unreachableUrl,
  LOG_LEVEL: 'silent',
  BASE_PATH,
});
/** The routes of the application. They are read from lines that Nest logs, such as `Mapped {/docs, GET} route`. */
const routes: { readonly path: string; readonly method: string }[] = [];
const ignore = (): void => undefined;
const routeLogger: LoggerService = {
  log: (message: string) => {
    const [, path, method] = /^Mapped \{(.+), ([A-Z]+)\} route$/.exec(message) ?? [];
    if (path !== undefined && method !== undefined) routes.push({ path, method });
  },
  warn: ignore,
  error: ignore,
};
const testingModule = await Test.createTestingModule({ imports: [AppModule.forRoot(configuration), TestModule] })
  .setLogger(routeLogger)
  .compile();
const app = testingModule.createNestApplication(new ServerAdapter(configuration));
const answered: Answered[] = [];

beforeAll(async () => {
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  for (const { path, method } of routes) {
    const reply = await fetchReply(url + path, { method });
    answered.push({ operation: `${method} ${path}`, reply });
  }
});
afterAll(() => app.close());

it('every route is below BASE_PATH, except / and the routes that this test adds', () => {
  const isBelow = (path: string): boolean => path === BASE_PATH || path.startsWith(`${BASE_PATH}/`);
  const outside = new Set(routes.map(({ path }) => path).filter((path) => !isBelow(path)));
  expect([...outside].toSorted()).toEqual(['/', '/closed', '/open', '/open/closed', '/unmarked', '/unmarked/open']);
});

it('only the listed open routes answer a caller without credentials', () => {
  const open = answered.filter(({ reply }) => reply.status !== 401);
  const expected = [...OPEN_OPERATIONS, ...OPEN_OPERATIONS_OF_TEST];
  expect(open.map(({ operation }) => operation).toSorted()).toEqual(expected.toSorted());
});

it('every route that is not open answers 401, and names both credentials', () => {
  const guarded = answered.filter(({ reply }) => reply.status === 401);
  const expected = [...GUARDED_OPERATIONS, ...GUARDED_OPERATIONS_OF_TEST];
  expect(guarded.map(({ operation }) => operation).toSorted()).toEqual(expected.toSorted());
  for (const { reply } of guarded) {
    // `expectProblem` expects the address without BASE_PATH
    const text = reply.text.replace(`${BASE_PATH}/problems/`, '/problems/');
    const { issues } = expectProblem({ ...reply, text }, 'missing-credentials');
    expect(issues?.map(({ field }) => field)).toEqual(['Api-Key', 'Authorization']);
  }
});
