// Messages of src name commands, pages, variables and roles. A test fails if a message names one that does not exist.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { variableNames } from '../../src/configuration/read-configuration.js';
import { PAGES, findAll, listAnchors } from '../support/pages.js';
import { PROJECT, readText } from '../support/program.js';

const files = readdirSync(join(PROJECT, 'src'), { recursive: true, encoding: 'utf8' }).filter(
  (name) => name.endsWith('.ts') && !name.endsWith('.spec.ts'),
);
const src = files.map((name) => readText(join('src', name))).join('\n');
const migrations = readdirSync(join(PROJECT, 'migrations'));

/** Returns the first group of each match in src. Fails without a match, because then the test would test nothing. */
function findInSrc(pattern: RegExp): string[] {
  const found = findAll(src, pattern);
  expect(found).not.toEqual([]);
  return found;
}

it('a command line of npm names a script of package.json', () => {
  const { scripts } = JSON.parse(readText('package.json')) as { scripts: object };
  // One message has the words `npm run reads`, which are no command line
  const named = findInSrc(/npm run (?!reads)(?:--silent )?([a-z][\w:]*)/g);
  expect(named.filter((name) => !(name in scripts))).toEqual([]);
});

it('a command line of Node.js names a program', () => {
  const named = findInSrc(/node dist\/([\w/-]+)\.js/g);
  expect(named.filter((name) => !files.includes(`${name}.ts`))).toEqual([]);
});

it('a command line names a command and options that the programs know', () => {
  const standardInput = '-'; // the doctor reads credentials from it
  const commands = [standardInput, ...findInSrc(/new Command\('([\w-]+)'\)/g)];
  const options = findInSrc(/\.(?:requiredO|o)ption\('(--[\w-]+)/g);
  const lines = [
    ...findInSrc(/formatCommandLine\('\w+', '([^']+)'\)/g),
    ...findInSrc(/npm run (?:--silent )?(?:migrate|keys|codes|doctor) -- ([\w-]+(?: [\w./-]+)*)/g),
    ...findInSrc(/node dist\/(?:migrate|keys|codes|doctor)\.js ([\w-]+)/g),
  ];
  const unknown = lines.filter((line) => {
    const [command = '', ...words] = line.split(' ');
    const given = words.filter((word) => word.startsWith('--'));
    return !commands.includes(command) || !given.every((option) => options.includes(option));
  });
  expect(unknown).toEqual([]);
});

it('a page or a heading that src names exists', () => {
  const named = findInSrc(/\b((?:docs\/[\w-]+|README|CONTRIBUTING)\.md(?:#[\w-]+)?)/g);
  const missing = named.filter((link) => {
    const [page = '', anchor] = link.split('#');
    return !PAGES.includes(page) || (anchor !== undefined && !listAnchors(page).includes(anchor));
  });
  expect(missing).toEqual([]);
});

it('a migration that src names exists', () => {
  const named = findInSrc(/'(\d{4}_\w+)'/g);
  expect(named.filter((name) => !migrations.includes(`${name}.sql`))).toEqual([]);
});

it('a role that src names is made by deploy/database/1-roles.sql', () => {
  const roles = findAll(readText('deploy/database/1-roles.sql'), /create role (\w+)/g);
  const named = findInSrc(/\b(order_lookup_[a-z_]+)/g);
  expect(named.filter((name) => !roles.includes(name))).toEqual([]);
});

it('an environment variable that src names is read by the service', () => {
  // OpenTelemetry reads more variables that begin with OTEL_ than our configuration lists
  const ours = variableNames.filter((name) => !name.startsWith('OTEL_'));
  const families = [...new Set(ours.map((name) => name.split('_')[0]))].join('|');
  const constants = findInSrc(/\bconst ([A-Z][A-Z_]+) =/g);
  const named = findInSrc(new RegExp(`\\b((?:${families})_[A-Z]\\w+)`, 'g'));
  expect(named.filter((name) => !ours.includes(name) && !constants.includes(name))).toEqual([]);
});
