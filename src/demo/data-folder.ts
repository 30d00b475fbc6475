import { accessSync, constants, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { StartError } from '../configuration/start-error.js';

/**
 * Makes the folder `.data`, or checks that this user can read and write the folder and each entry in it.
 * @throws StartError if the user cannot, for example because root started the demo before
 */
export function prepareDataFolder(folder: string): void {
  try {
    if (!existsSync(folder)) mkdirSync(folder);
    const files = readdirSync(folder).map((name) => join(folder, name));
    for (const path of [folder, ...files]) accessSync(path, constants.R_OK | constants.W_OK);
  } catch (error) {
    throw new StartError(describeDataFolder(folder, error as NodeJS.ErrnoException));
  }
}

/** Returns what is wrong with the folder, and how the user mends it. */
export function describeDataFolder(folder: string, { code, path = folder }: NodeJS.ErrnoException): string {
  if (code === 'EROFS')
    return `${path} is on a read-only mount, and the demo keeps its data there. Use a clone in a folder that can be written.`;
  const owner = statSync(path, { throwIfNoEntry: false })?.uid;
  if (owner !== undefined && owner !== process.geteuid?.())
    return (
      `${path} belongs to another user, who started the demo before. ` +
      'Make the clone yours again. In its folder, run: sudo chown -R "$(id -un)" .'
    );
  return `${path} cannot be written (${code}). Let this user write. In the folder of the clone, run: chmod -R u+rwX .`;
}
