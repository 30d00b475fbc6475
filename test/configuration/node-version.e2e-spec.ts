import { expect, it } from '@jest/globals';
import { preload } from '../support/clocks.js';
import { run } from '../support/program.js';

const OLD = preload(`Object.defineProperty(process.versions, 'node', { value: '20.18.3' })`);

it.each(['main.js', 'doctor.js', 'codes.js', 'keys.js', 'migrate.js'])(
  '%s ends with one sentence where Node.js is too old',
  async (program) => {
    expect(await run(program, ['--help'], OLD)).toEqual({
      status: 1,
      stdout: '',
      stderr: 'Node.js 20.18.3 is too old: version 20.19 or later is needed.\n',
    });
  },
);
