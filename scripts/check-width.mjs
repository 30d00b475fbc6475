// Part of `npm run check`: no line has more than 120 columns. Prettier wraps the code sooner, but
// neither comments nor texts.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';

const MAX_COLUMNS = 120;

const files = ['scripts', 'src', 'test'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).replaceAll('\\', '/')),
);

/** Written by programs: the benchmark, PostgreSQL's print of objects, the lock file of test/tools. */
const isWritten = (name) => /(RESULTS\.md|promises\.md|\.svg|\.json)$/.test(name);

for (const file of files.filter((name) => !isWritten(name))) {
  const lines = readFileSync(file, 'utf8').split('\n');
  for (const [index, line] of lines.entries()) {
    const columns = Array.from(line).length;
    if (columns <= MAX_COLUMNS) continue;
    console.error(`${file}:${index + 1} has ${columns} columns: at most ${MAX_COLUMNS} are read`);
    process.exitCode = 1;
  }
}
