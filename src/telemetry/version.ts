import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const PACKAGE_FILE = join(import.meta.dirname, '..', '..', 'package.json');

/** The version of the service, which package.json holds. */
export const { version } = JSON.parse(readFileSync(PACKAGE_FILE, 'utf8')) as { version: string };
