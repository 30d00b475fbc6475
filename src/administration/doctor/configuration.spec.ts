import { afterEach, expect, it } from '@jest/globals';
import { examineNodeEnvironment } from './configuration.js';

const { NODE_EXTRA_CA_CERTS: former } = process.env;
afterEach(() => {
  if (former === undefined) delete process.env['NODE_EXTRA_CA_CERTS'];
  else process.env['NODE_EXTRA_CA_CERTS'] = former;
});

it('a variable of Node.js that cannot work is a warning', async () => {
  process.env['NODE_EXTRA_CA_CERTS'] = '/no/ca.pem';
  expect(await examineNodeEnvironment()).toEqual({
    state: 'warning',
    text: `version ${process.versions.node}`,
    remedy: expect.stringMatching(/^NODE_EXTRA_CA_CERTS names \/no\/ca\.pem, which cannot be read/),
  });
});
