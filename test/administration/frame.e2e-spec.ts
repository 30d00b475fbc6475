import { describe, expect, it } from '@jest/globals';
import { run } from '../support/program.js';

describe('every program for administrators', () => {
  it.each(['migrate', 'keys', 'codes', 'doctor'])(
    '%s --help says how it is typed, with status 0',
    async (program) => {
      expect(await run(`${program}.js`, ['--help'], {})).toEqual({
        status: 0,
        stdout: expect.stringMatching(new RegExp(`^Usage:\n  node dist/${program}\\.js`)),
        stderr: '',
      });
    },
  );

  it.each<[string, string[], RegExp]>([
    ['keys', [], /^"" is not a command of keys: issue, .*\n$/],
    ['keys', ['__proto__'], /^"__proto__" is not a command of keys: .*\n$/],
    ['codes', ['show', '--flag'], /^Unknown option '--flag'\. Usage: node dist\/codes\.js .*\n$/],
    [
      'migrate',
      ['new'],
      /^There are too few words.*\. Usage: node dist\/migrate\.js new NAME.*\n$/,
    ],
    ['doctor', ['now'], /^There .* too many\. Usage: node dist\/doctor\.js.*\n$/],
  ])('%s %j is refused in one sentence, with status 1', async (program, words, said) => {
    const stderr = expect.stringMatching(said);
    expect(await run(`${program}.js`, words, {})).toEqual({ status: 1, stdout: '', stderr });
  });

  it.each([
    [['plan'], { npm_config_json: 'true' }, 'npm run migrate -- plan '],
    [['new', 'x', 'f.csv'], { npm_config_from: 'true' }, 'npm run migrate -- new NAME '],
  ])('%j after `npm run migrate` without "--" is recognised', async (words, taken, right) => {
    const stderr = expect.stringMatching(
      new RegExp(`^npm took --.*: write "--" .* Usage: ${right}.*\n$`),
    );
    expect(await run('migrate.js', words, { npm_lifecycle_event: 'migrate', ...taken })).toEqual({
      status: 1,
      stdout: '',
      stderr,
    });
  });
});
