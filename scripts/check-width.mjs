// Part of `npm run check`: no line of these rooms has more than 120 columns. Prettier wraps the code sooner, but
// neither comments nor texts.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';

const MAX_COLUMNS = 120;
const ROOMS = [
  /^src\/(bootstrap|collections|demo|documentation|html|http|lookups|problems|snapshots|telemetry)\//,
  /^src\/administration\/(codes|keys|lists|migrate\/drift)\//,
  /^src\/database\/.*\.ts$/,
  /^src\/order-[a-z0-9-]+\//,
  /^src\/auth\/([^/]+|api-keys\/.*)$/,
  /^src\/(app\.module|main)\.ts$/,
  /^scripts\//,
  /^test\/(bench|black-box|demo|deploy|documentation|faults|http|support|telemetry)\//,
  /^test\/auth\/routes/,
  /^test\/administration\/(keys|show|lists\/|migrate\/drift)/,
  /^test\/database\/(dump|objects)\./,
];

const files = ['scripts', 'src', 'test'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).replaceAll('\\', '/')),
);

/** Written by the benchmark. */
const isWritten = (name) => /(RESULTS\.md|\.svg)$/.test(name);

const checked = files.filter((name) => ROOMS.some((room) => room.test(name)) && !isWritten(name));
for (const file of checked) {
  const lines = readFileSync(file, 'utf8').split('\n');
  for (const [index, line] of lines.entries()) {
    const columns = Array.from(line).length;
    if (columns <= MAX_COLUMNS) continue;
    console.error(`${file}:${index + 1} has ${columns} columns: at most ${MAX_COLUMNS} are read`);
    process.exitCode = 1;
  }
}
