import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Two folders up, both from src/telemetry and from dist/telemetry. If you move this file deeper, the path is wrong. */
const PACKAGE_FILE = join(import.meta.dirname, '..', '..', 'package.json');

export const { version } = JSON.parse(readFileSync(PACKAGE_FILE, 'utf8')) as { version: string };
