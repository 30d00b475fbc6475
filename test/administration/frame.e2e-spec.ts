import { expect, it } from '@jest/globals';
import { run } from '../support/program.js';

it.each(['migrate', 'keys', 'codes', 'doctor'])('%s --help says how it is typed', async (name) => {
  const stdout = expect.stringMatching(new RegExp(`^Usage:\n  node dist/${name}\\.js`));
  expect(await run(`${name}.js`, ['--help'], {})).toEqual({ status: 0, stdout, stderr: '' });
});

/** Settings of npm may come from a file: they are no options of the command. */
const npm = { npm_lifecycle_event: 'migrate', npm_config_yes: '', npm_config_json: 'true' };
const RULE = 'Without "--" npm takes options for its own and does not pass them on';

it.each<[string, RegExp, Record<string, string>?]>([
  ['keys', /^"" is not a command of keys: issue, .*\n$/],
  ['keys __proto__', /^"__proto__" is not a command of keys: .*\n$/],
  ['codes show --flag', /^Unknown option '--flag'\. Usage: node dist\/codes\.js .*\n$/],
  ['migrate new', /^There are too few words.*\. Usage: node dist\/migrate\.js new NAME.*\n$/],
  ['doctor now', /^There .* too many\. Usage: node dist\/doctor\.js.*\n$/],
  ['migrate plan', /^DATABASE_URL is not set: .*\n$/, npm],
  ['migrate new x f.csv', new RegExp(`^There .* npm run migrate -- new .*\\. ${RULE}\\.\n$`), npm],
])('%s is refused in one sentence, with status 1', async (line, message, environment = {}) => {
  const [program, ...words] = line.split(' ');
  const stderr = expect.stringMatching(message);
  expect(await run(`${program}.js`, words, environment)).toEqual({ status: 1, stdout: '', stderr });
});
