import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Two folders up, both from src/telemetry and from dist/telemetry. In a deeper folder, this path would be wrong. */
const PACKAGE_FILE = join(import.meta.dirname, '..', '..', 'package.json');

export const { version } = JSON.parse(readFileSync(PACKAGE_FILE, 'utf8')) as { version: string };
