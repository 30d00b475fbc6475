import { expect, it } from '@jest/globals';
import { COMMAND, SERVICE, sourceOptions } from './data-source.js';

const FIELDS = { host: 'db.example', user: 'reader' };

it('a session ends after 30 s without use, and after less than five minutes in any case', () => {
  expect(sourceOptions(FIELDS, SERVICE).extra).toMatchObject({
    idleTimeoutMillis: 30_000,
    maxLifetimeSeconds: 290,
    keepAlive: true,
    keepAliveInitialDelayMillis: 5_000,
  });
});

it('the service has three sessions, gives up an attempt to connect after 2 s, and an answer after 2.5 s', () => {
  const { poolSize, connectTimeoutMS, extra } = sourceOptions(FIELDS, SERVICE);
  expect({ poolSize, connectTimeoutMS, answerMs: extra.query_timeout }).toEqual({
    poolSize: 3,
    connectTimeoutMS: 2_000,
    answerMs: 2_500,
  });
  expect(SERVICE.patienceMs).toBe(0);
});

it('a command has one session, tries to connect for ten seconds, and waits for answers without a limit', () => {
  const { poolSize, connectTimeoutMS, extra } = sourceOptions(FIELDS, COMMAND);
  expect({ poolSize, connectTimeoutMS, answerMs: extra.query_timeout }).toEqual({
    poolSize: 1,
    connectTimeoutMS: 10_000,
    answerMs: 0,
  });
  expect(COMMAND.patienceMs).toBe(10_000);
});
