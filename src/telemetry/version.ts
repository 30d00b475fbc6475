import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The file two folders up, from src and from dist. If you move this file to another depth, the start fails. */
const PACKAGE_FILE = join(import.meta.dirname, '..', '..', 'package.json');

export const { version } = JSON.parse(readFileSync(PACKAGE_FILE, 'utf8')) as { version: string };
