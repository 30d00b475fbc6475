import { createHash } from 'node:crypto';
import { accessSync, constants, mkdirSync, readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { StartError } from '../configuration/start-error.js';
import { placeOutsideOf } from './postgres/server-programs.js';

export const PROJECT = join(import.meta.dirname, '..', '..');

/** What the demo keeps from one start to the next. */
export const DATA = join(PROJECT, '.data');

/** The database of the demo: in `.data`, or, where PostgreSQL cannot use that, in another folder for each clone. */
export function databaseFolderOf(project: string): string {
  const place = placeOutsideOf(project);
  if (!place) return join(project, '.data');
  const digest = createHash('sha256').update(project).digest('hex').slice(0, 12);
  const name = basename(project).replaceAll(/[^\w-]/g, '');
  return join(place, `${name}-${digest}`);
}

/** How to begin afresh, as the end of a sentence. */
export function foldersToDelete(): string {
  const folders = new Set([DATA, databaseFolderOf(PROJECT)]);
  return [...folders].join(' and ');
}

/** @throws StartError if this user cannot write `.data/`, for example because root started the demo before */
export function prepareDataFolder(): void {
  try {
    mkdirSync(DATA, { recursive: true });
    const files = readdirSync(DATA).map((name) => join(DATA, name));
    for (const path of [DATA, ...files]) accessSync(path, constants.R_OK | constants.W_OK);
  } catch (error) {
    throw new StartError(sentenceOf(error as NodeJS.ErrnoException));
  }
}

function sentenceOf({ code, path = DATA }: NodeJS.ErrnoException): string {
  const owner = statSync(path, { throwIfNoEntry: false })?.uid;
  if (owner !== undefined && owner !== process.geteuid?.())
    return (
      `${path} belongs to another user, as whom the demo was started before. ` +
      'Give the clone back, in its folder: sudo chown -R "$(id -un)" .'
    );
  return `${path} cannot be written (${code}). Let this user write in the clone, in its folder: chmod -R u+rwX .`;
}
