// Which routes are open to everybody, of the whole application and of controllers that use each form of the decorator.
import 'reflect-metadata';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Controller, Get, Module, Post } from '@nestjs/common';
import { AppModule } from '../../src/app.module.js';
import { Public } from '../../src/auth/public.decorator.js';
import { createApplication } from '../../src/bootstrap/create-application.js';
import { readConfiguration } from '../../src/configuration/read-configuration.js';
import { ALL_PATHS } from '../support/paths.js';
import { expectProblem } from '../support/problem.js';
import { type Reply, readReply } from '../support/exchange.js';

interface Route {
  readonly path: string;
  /** In lower case. */
  readonly methods: Readonly<Record<string, boolean>>;
}

/** What an operation answers to a caller without credentials. */
interface Answered {
  /** Method and path. */
  readonly operation: string;
  readonly reply: Reply;
}

const OPEN_OPERATIONS = [
  'GET /',
  'GET /docs',
  'GET /docs/:name',
  'GET /openapi-3.0.json',
  'GET /openapi.json',
  'GET /problems/:slug',
];
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
Module({ imports: [TestModule] })(AppModule); // Nest adds these imports to those that AppModule.forRoot gives

const nowhere = 'http://127.0.0.1:9';
const app = await createApplication(
  readConfiguration({
    DATABASE_URL: 'postgres://127.0.0.1:9/none',
    OAUTH_ISSUER: nowhere,
    OAUTH_AUDIENCE: nowhere,
    LOG_LEVEL: 'silent',
  }),
);
const answered: Answered[] = [];

beforeAll(async () => {
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  for (const { path, methods } of routes()) {
    for (const name of Object.keys(methods)) {
      const method = name.toUpperCase();
      const reply = await readReply(await fetch(url + path, { method }));
      answered.push({ operation: `${method} ${path}`, reply });
    }
  }
});
afterAll(() => app.close());

function routes(): Route[] {
  const { stack } = app.getHttpAdapter().getInstance().router as { stack: { route?: Route }[] };
  return stack.flatMap(({ route }) => (route ? [route] : []));
}

it('every route refuses anonymous callers, also while keys cannot be checked, but those that are listed', () => {
  const open = answered.filter(({ reply }) => reply.status !== 401);
  const expected = [...OPEN_OPERATIONS, ...OPEN_OPERATIONS_OF_TEST];
  expect(open.map(({ operation }) => operation).toSorted()).toEqual(expected.toSorted());
});

it('every other route names both credentials', () => {
  const guarded = answered.filter(({ reply }) => reply.status === 401);
  const lookups = ALL_PATHS.map((path) => `GET ${path}`);
  const expected = [...lookups, ...GUARDED_OPERATIONS_OF_TEST];
  expect(guarded.map(({ operation }) => operation).toSorted()).toEqual(expected.toSorted());
  for (const { reply } of guarded) {
    const { issues } = expectProblem(reply, 'missing-credentials');
    expect(issues?.map(({ field }) => field)).toEqual(['Api-Key', 'Authorization']);
  }
});
