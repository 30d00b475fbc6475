import { describe, expect, it } from '@jest/globals';
import { run } from '../support/program.js';

const PROGRAMS = ['migrate', 'keys', 'codes', 'doctor'];

describe('every program for administrators', () => {
  it.each(PROGRAMS)('%s --help says how it is typed, with status 0', async (program) => {
    expect(await run(`${program}.js`, ['--help'], {})).toEqual({
      status: 0,
      stdout: expect.stringMatching(new RegExp(`^Usage:\n  node dist/${program}\\.js`)),
      stderr: '',
    });
  });

  it.each([
    ['migrate', ['sideways'], /^"sideways" is not a command of migrate: up, .*\n$/],
    ['migrate', ['--no-such-flag'], /^"--no-such-flag" is not a command of migrate: .*\n$/],
    ['migrate', ['down', 'x'], /^"x" is not a number of migrations to undo.*\n$/],
    ['keys', [], /^A command is missing: issue, .*\n$/],
    ['keys', ['__proto__'], /^"__proto__" is not a command of keys: .*\n$/],
    ['keys', ['list', 'x'], /^"x" is one word too many\. Usage: node dist\/keys\.js list .*\n$/],
    [
      'keys',
      ['list', '--flag'],
      /^Unknown option '--flag'\. Usage: node dist\/keys\.js list .*\n$/,
    ],
    ['migrate', ['new'], /^An operand is missing\. Usage: node dist\/migrate\.js new NAME.*\n$/],
    ['doctor', ['now'], /^"now" is one word too many\. Usage: node dist\/doctor\.js.*\n$/],
    ['codes', ['show', '--at'], /^.*\n$/],
  ] as const)('%s %j is refused in one sentence, with status 1', async (program, words, said) => {
    expect(await run(`${program}.js`, [...words], {})).toEqual({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(said),
    });
  });

  it.each([
    [['plan'], { npm_config_json: 'true' }, 'npm run migrate -- plan --json'],
    [['down', '2'], { npm_config_yes: 'true' }, 'npm run migrate -- down 2 --yes'],
    [['new', 'x', 'f.csv'], { npm_config_from: 'true' }, 'npm run migrate -- new x f.csv --from …'],
  ])('%j after `npm run migrate` without "--" is recognised', async (words, taken, right) => {
    expect(await run('migrate.js', words, { npm_lifecycle_event: 'migrate', ...taken })).toEqual({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(new RegExp(`^npm took --.* Write "--" .*: ${right}\n$`)),
    });
  });
});
