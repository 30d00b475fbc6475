import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Two folders up, in `src` as in `dist`: this file cannot move to another depth. */
const PACKAGE_FILE = join(import.meta.dirname, '..', '..', 'package.json');

/** The version of the service, which package.json holds. */
export const { version } = JSON.parse(readFileSync(PACKAGE_FILE, 'utf8')) as { version: string };
