import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Outcome, PROJECT, cleanEnvironment } from './program.js';

/** The migrations of the project, without .sql. */
export const NAMES = readdirSync(join(PROJECT, 'migrations')).map((file) =>
  file.replace('.sql', ''),
);

/** A copy of the program with migrations of its own, so that a test can add some. */
export class ProgramCopy {
  readonly migrations: string;
  /** What the commands see of the environment. */
  environment: Record<string, string> = {};

  constructor(readonly folder = mkdtempSync(join(tmpdir(), 'administration-'))) {
    this.migrations = join(folder, 'migrations');
    if (existsSync(this.migrations)) return; // a clone of another copy
    cpSync(join(PROJECT, 'dist'), join(this.folder, 'dist'), { recursive: true });
    symlinkSync(join(PROJECT, 'node_modules'), join(this.folder, 'node_modules'));
    writeFileSync(join(this.folder, 'package.json'), '{"type":"module"}');
    this.reset();
  }

  /** Only the migrations of the project. */
  reset(): void {
    rmSync(this.migrations, { recursive: true, force: true });
    cpSync(join(PROJECT, 'migrations'), this.migrations, { recursive: true });
    copyFileSync(join(PROJECT, 'last-migration.txt'), join(this.folder, 'last-migration.txt'));
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.migrations, `${name}.sql`), text);
  }

  add(name: string, up: string, down = ''): void {
    this.write(name, `-- Up Migration\n${up}\n-- Down Migration\n${down}\n`);
  }

  start(program: string, ...words: string[]): { child: ChildProcess; ended: Promise<Outcome> } {
    const child = spawn(process.execPath, [join(this.folder, 'dist', `${program}.js`), ...words], {
      env: cleanEnvironment(this.environment),
      cwd: this.folder,
    });
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const)
      child[name].setEncoding('utf8').on('data', (text: string) => (output[name] += text));
    const ended = once(child, 'close').then(([status]) => ({
      status: status as number | null,
      ...output,
    }));
    return { child, ended };
  }

  migrate = (...words: string[]): Promise<Outcome> => this.start('migrate', ...words).ended;

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
