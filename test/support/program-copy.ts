import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runLocally } from './local-program.js';
import { type Outcome, PROJECT, type Running, begin } from './program.js';

/** The migrations of the project, without .sql. */
export const NAMES = readdirSync(join(PROJECT, 'migrations')).map((file) => file.replace('.sql', ''));

export const DRY_RUN = 'dist/administration/migrate/dry-run.js';

/** Changes a file of a copy. */
export function edit(path: string, found: RegExp, replacement: string): void {
  const text = readFileSync(path, 'utf8');
  const edited = text.replaceAll(found, replacement);
  if (edited === text) throw new Error(`${path} holds no ${found.source}`);
  writeFileSync(path, edited);
}

/** A folder with copies of these parts of the project, dist/ among them, and nothing to install. */
export function copyOf(...names: string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'copy-'));
  for (const name of names) cpSync(join(PROJECT, name), join(folder, name), { recursive: true });
  symlinkSync(join(PROJECT, 'node_modules'), join(folder, 'node_modules'));
  edit(join(folder, DRY_RUN), /LIMIT_SECONDS = \d+/g, 'LIMIT_SECONDS = 3_600'); // a slow machine would reach it
  return folder;
}

/** A copy of the program with migrations of its own, so that a test can add some. */
export class ProgramCopy {
  readonly migrations: string;
  /** What the commands see of the environment. */
  environment: Record<string, string> = {};

  constructor(readonly folder = copyOf('dist', 'package.json', 'migrations')) {
    this.migrations = join(folder, 'migrations');
  }

  /** Only the migrations of the project. */
  reset(): void {
    rmSync(this.migrations, { recursive: true, force: true });
    cpSync(join(PROJECT, 'migrations'), this.migrations, { recursive: true });
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.migrations, `${name}.sql`), text);
  }

  add(name: string, up: string, down = ''): void {
    this.write(name, `-- Up Migration\n${up}\n-- Down Migration\n${down}\n`);
  }

  /** Runs a program in the process of the test; `start` gives it one of its own. */
  run(program: string, ...words: string[]): Promise<Outcome> {
    const { environment, folder } = this;
    return runLocally({ program: `dist/${program}.js`, words, environment, folder });
  }

  start = (program: string, ...words: string[]): Running =>
    begin([process.execPath, `dist/${program}.js`, ...words], this.folder, this.environment);

  migrate = (...words: string[]): Promise<Outcome> => this.start('migrate', ...words).ended;

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
