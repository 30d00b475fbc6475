// Makes copies of the project, which a test may change. `ProgramCopy` has only the programs and the migrations.
// `copyProject` also copies everything else that `npm start` needs.
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach } from '@jest/globals';
import type { ProgramName } from '../../src/administration/cli/program.js';
import { findDatabaseFolder } from '../../src/demo/postgres-programs.js';
import { type TestDatabase, createDatabase } from './database.js';
import { runLocally } from './local-program.js';
import { type Outcome, PROJECT, type RunningProgram, startProgram } from './program.js';

/** The migrations of the project, without .sql. */
export const MIGRATION_NAMES = readdirSync(join(PROJECT, 'migrations')).map((file) => file.replace('.sql', ''));

export function editFile(path: string, found: RegExp, replacement: string): void {
  const text = readFileSync(path, 'utf8');
  const edited = text.replaceAll(found, replacement);
  if (edited === text) throw new Error(`${path} contains no ${found.source}`);
  writeFileSync(path, edited);
}

/** A copy of the programs and of the migrations, so that a test can add migrations. */
export class ProgramCopy {
  readonly migrations: string;
  /** The environment variables with which `run` and `start` run a program. */
  environment: Record<string, string> = {};

  constructor(readonly folder = copyParts('dist', 'package.json', 'migrations')) {
    this.migrations = join(folder, 'migrations');
  }

  /** Restores the migrations of the project, and removes all others. */
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

  /** Runs a program in the process of the test. `start` runs it in a process of its own. */
  run(program: ProgramName, ...words: string[]): Promise<Outcome> {
    const { environment, folder } = this;
    return runLocally({ program, words, environment, folder });
  }

  start(program: string, ...words: string[]): RunningProgram {
    return startProgram([process.execPath, `dist/${program}.js`, ...words], this.folder, this.environment);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/**
 * Makes a copy of the programs and a database, which are removed after the last test of a file. After each test the
 * migrations and the variables are reset, but the content of the database stays.
 * @param urlOf returns the address at which the commands use the database
 */
export async function useProgramCopy(urlOf = (database: TestDatabase): string => database.url) {
  const copy = new ProgramCopy();
  const database = await createDatabase();
  copy.environment = { DATABASE_URL: urlOf(database) };
  afterEach(() => {
    copy.reset();
    copy.environment = { DATABASE_URL: urlOf(database) };
  });
  afterAll(async () => {
    copy.remove();
    await database.drop();
  });
  return { copy, database };
}

/** A clone of the project in which a test runs `npm start`. */
export interface Clone {
  readonly folder: string;
  /** The folder in which the demo keeps its PostgreSQL. */
  readonly databaseFolder: string;
}

/** Makes a clone, which is removed after the last test of a file. */
export function useProjectClone(): Clone {
  const folder = copyProject();
  const databaseFolder = findDatabaseFolder(folder);
  afterAll(() => {
    for (const path of [folder, databaseFolder]) rmSync(path, { recursive: true, force: true });
  });
  return { folder, databaseFolder };
}

/** Makes a copy of the project. Returns its folder. */
export function copyProject(): string {
  const folders = ['src', 'dist', 'migrations', 'scripts', 'deploy'];
  return copyParts(...folders, 'Dockerfile', 'nest-cli.json', 'package.json', 'package-lock.json');
}

/** Copies these files and folders of the project. A link to node_modules/ makes an installation unnecessary. */
function copyParts(...names: string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'copy-'));
  for (const name of names) cpSync(join(PROJECT, name), join(folder, name), { recursive: true });
  symlinkSync(join(PROJECT, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}
