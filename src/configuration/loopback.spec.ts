import { expect, it } from '@jest/globals';
import { exemptFromProxy } from './loopback.js';

it.each([
  { name: 'nothing is set', environment: {}, expected: '127.0.0.1' },
  { name: 'no_proxy names other hosts', environment: { no_proxy: 'a.example' }, expected: 'a.example,127.0.0.1' },
  { name: 'NO_PROXY names other hosts', environment: { NO_PROXY: 'a.example' }, expected: 'a.example,127.0.0.1' },
  {
    name: 'no_proxy is empty, which hides NO_PROXY',
    environment: { no_proxy: '', NO_PROXY: 'unread' },
    expected: '127.0.0.1',
  },
  { name: 'no_proxy exempts this host already', environment: { no_proxy: '127.0.0.1' }, expected: '127.0.0.1' },
  { name: 'no_proxy exempts every host', environment: { no_proxy: '*' }, expected: '*' },
])('exempts a host from the proxy if $name', ({ environment, expected }) => {
  const changed: NodeJS.ProcessEnv = { ...environment };
  exemptFromProxy('127.0.0.1', changed);
  expect(changed['no_proxy']).toBe(expected);
});

it('leaves the environment unchanged if NO_PROXY already exempts every host', () => {
  const environment: NodeJS.ProcessEnv = { NO_PROXY: '*' };
  exemptFromProxy('127.0.0.1', environment);
  expect(environment).toEqual({ NO_PROXY: '*' });
});
