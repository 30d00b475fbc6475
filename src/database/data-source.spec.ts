import { expect, it } from '@jest/globals';
import { COMMAND_USE, SERVICE_USE, createSourceOptions } from './data-source.js';

const FIELDS = { host: 'db.example', user: 'reader' };

it('the pool closes a session after 30 s without use or at an age of 290 s; TCP probes it after 5 s of silence', () => {
  expect(createSourceOptions(FIELDS, SERVICE_USE).extra).toMatchObject({
    idleTimeoutMillis: 30_000,
    maxLifetimeSeconds: 290,
    keepAlive: true,
    keepAliveInitialDelayMillis: 5_000,
  });
});

it('the service has three sessions, waits 2 s for a connection and 2.5 s for an answer, and does not retry', () => {
  const { poolSize, connectTimeoutMS, extra } = createSourceOptions(FIELDS, SERVICE_USE);
  expect({ poolSize, connectTimeoutMS, queryTimeoutMs: extra.query_timeout }).toEqual({
    poolSize: 3,
    connectTimeoutMS: 2_000,
    queryTimeoutMs: 2_500,
  });
  expect(SERVICE_USE.connectRetryMs).toBe(0);
});

it('a command has one session, tries to connect for ten seconds, and waits for answers without a limit', () => {
  const { poolSize, connectTimeoutMS, extra } = createSourceOptions(FIELDS, COMMAND_USE);
  expect({ poolSize, connectTimeoutMS, queryTimeoutMs: extra.query_timeout }).toEqual({
    poolSize: 1,
    connectTimeoutMS: 10_000,
    queryTimeoutMs: 0,
  });
  expect(COMMAND_USE.connectRetryMs).toBe(10_000);
});
