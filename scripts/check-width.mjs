// Part of `npm run check`: no line of src, test and scripts has more than 120 columns. Prettier wraps the code of all
// folders sooner, but neither comments nor texts. Nobody looks at the pages, deploy/ and migrations/: their tables,
// commands and files that were applied cannot be wrapped.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';

const MAX_COLUMNS = 120;

const files = ['scripts', 'src', 'test'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).replaceAll('\\', '/')),
);

/** Tables, whose rows cannot be wrapped, and files that programs write. */
const isExempt = (file) => /\.(json|md|svg)$/.test(file);
/** Packages that `npm run test:tools` installs, and pictures that it takes. */
const isUntracked = (file) => /\/node_modules\/|^test\/output\//.test(file);

for (const file of files.filter((name) => !isExempt(name) && !isUntracked(name))) {
  const lines = readFileSync(file, 'utf8').split('\n');
  for (const [index, line] of lines.entries()) {
    const columns = Array.from(line).length;
    if (columns <= MAX_COLUMNS) continue;
    const place = `${file}:${index + 1}`;
    console.error(`${place} has ${columns} columns, ${MAX_COLUMNS} are allowed: wrap the line`);
    process.exitCode = 1;
  }
}
