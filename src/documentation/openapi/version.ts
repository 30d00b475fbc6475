import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const file = join(import.meta.dirname, '..', '..', '..', 'package.json');

/** The version of the service. package.json is its only source. */
export const { version: VERSION } = JSON.parse(readFileSync(file, 'utf8')) as { version: string };
