import { rmSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll } from '@jest/globals';
import { findDatabaseFolder } from '../../src/demo/postgres-programs.js';
import { copyOf } from './program-copy.js';

/** A clone of the project in which `npm start` is tried. */
export interface Clone {
  readonly folder: string;
  /** Where its demo keeps PostgreSQL. */
  readonly databaseFolder: string;
}

/** A copy of the project, with nothing to install and nothing to build. */
export function copyOfProject(): string {
  const names = ['src', 'dist', 'migrations', 'scripts', 'deploy', 'Dockerfile'];
  const folder = copyOf(...names, 'package.json', 'package-lock.json');
  utimesSync(join(folder, 'package-lock.json'), 0, 0);
  utimesSync(join(folder, 'dist/built.tsbuildinfo'), new Date(), new Date());
  return folder;
}

/** Until the last test of a file has ended. */
export function cloneOfProject(): Clone {
  const folder = copyOfProject();
  const databaseFolder = findDatabaseFolder(folder);
  afterAll(() => {
    for (const path of [folder, databaseFolder]) rmSync(path, { recursive: true, force: true });
  });
  return { folder, databaseFolder };
}
