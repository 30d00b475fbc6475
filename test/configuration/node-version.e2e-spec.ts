import { expect, it } from '@jest/globals';
import { run } from '../support/program.js';

const OLD = `--import=data:text/javascript,${encodeURIComponent(`Object.defineProperty(process.versions, 'node', { value: '20.18.3' })`)}`;

it.each(['main.js', 'doctor.js', 'codes.js', 'keys.js', 'migrate.js'])(
  '%s ends with one sentence where Node.js is too old',
  async (program) => {
    expect(await run(program, ['--help'], { NODE_OPTIONS: OLD })).toEqual({
      status: 1,
      stdout: '',
      stderr: 'Node.js 20.18.3 is too old: version 20.19 or later is needed.\n',
    });
  },
);
