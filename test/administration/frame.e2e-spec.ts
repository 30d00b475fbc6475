import { describe, expect, it } from '@jest/globals';
import { run } from '../support/program.js';

const PROGRAMS = ['migrate', 'keys', 'codes', 'doctor'];

describe('every program for administrators', () => {
  it.each(PROGRAMS)('%s --help says how it is used, with status 0', async (program) => {
    expect(await run(`${program}.js`, ['--help'], {})).toEqual({
      status: 0,
      stdout: expect.stringMatching(/^Usage:\n/),
      stderr: '',
    });
  });

  it.each([
    ['migrate', ['sideways'], /^"sideways" is not a command of migrate: up, .*\n$/],
    ['keys', [], /^A command is missing: issue, .*\n$/],
    ['keys', ['__proto__'], /^"__proto__" is not a command of keys: .*\n$/],
    ['keys', ['list', 'x'], /^"x" is one word too many\. Usage: keys list .*\n$/],
    ['keys', ['list', '--flag'], /^Unknown option '--flag'\. Usage: keys list .*\n$/],
    ['migrate', ['new'], /^An operand is missing\. Usage: migrate new NAME.*\n$/],
    ['doctor', ['now'], /^"now" is one word too many\. Usage: doctor.*\n$/],
    ['codes', ['show', '--at'], /^.*\n$/],
  ] as const)('%s %j is refused in one sentence, with status 1', async (program, words, said) => {
    expect(await run(`${program}.js`, [...words], {})).toEqual({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(said),
    });
  });
});
