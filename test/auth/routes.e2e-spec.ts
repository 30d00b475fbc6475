import 'reflect-metadata';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createApplication } from '../../src/bootstrap/create-application.js';
import { readConfiguration } from '../../src/configuration/read-configuration.js';
import { ALL_PATHS } from '../support/paths.js';
import { expectProblem } from '../support/problem.js';
import { replyOf } from '../support/raw.js';

const OPEN = /^\/(docs|openapi\.json|problems|)(\/|$)/;
const nowhere = 'http://127.0.0.1:9';
const app = await createApplication(
  readConfiguration({
    DATABASE_URL: 'postgres://127.0.0.1:9/none',
    OAUTH_ISSUER: nowhere,
    OAUTH_AUDIENCE: nowhere,
    LOG_LEVEL: 'silent',
  }),
);
beforeAll(() => app.listen(0, '127.0.0.1'));
afterAll(() => app.close());

it('every route is public on purpose, or refuses anonymous callers, also while keys cannot be checked', async () => {
  const { stack } = app.getHttpAdapter().getInstance().router;
  const paths = [...new Set(stack.flatMap(({ route }) => (route ? [route.path] : [])))];
  const guarded = paths.filter((path) => !OPEN.test(path));
  expect(guarded.toSorted()).toEqual([...ALL_PATHS].toSorted());
  for (const path of guarded) {
    const reply = await replyOf(await fetch((await app.getUrl()) + path));
    const { issues } = expectProblem(reply, 'missing-credentials');
    expect(issues?.map(({ field }) => field)).toEqual(['Api-Key', 'Authorization']);
  }
});
