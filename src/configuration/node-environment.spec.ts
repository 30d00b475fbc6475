import { expect, it } from '@jest/globals';
import { nodeEnvironmentWarnings } from './node-environment.js';

it.each([
  ['20.20.2', false],
  ['22.20.0', false],
  ['22.21.0', true],
  ['23.11.1', false],
  ['24.0.0', true],
  ['26.1.0', true],
])('says whether NODE_USE_ENV_PROXY works with Node.js %s', (version, isSupported) => {
  const warnings = nodeEnvironmentWarnings({ NODE_USE_ENV_PROXY: '1' }, version);
  expect(warnings).toEqual(isSupported ? [] : [expect.stringContaining(`no effect with Node.js ${version}`)]);
});

it('says that a file of NODE_EXTRA_CA_CERTS cannot be read', () => {
  const warningsOf = (file: string) => nodeEnvironmentWarnings({ NODE_EXTRA_CA_CERTS: file }, '24.0.0');
  expect(warningsOf('/no/ca.pem')).toEqual([
    'NODE_EXTRA_CA_CERTS names /no/ca.pem, which cannot be read: its certificates do not count',
  ]);
  expect(warningsOf('package.json')).toEqual([]);
});
