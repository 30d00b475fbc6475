// Finds out whether dist/ was made from this src/. It compares contents, because a checkout changes times.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Returns whether dist/ has each file of this src/. The source maps contain the sources. Deleted files may remain. */
export function isBuilt() {
  const { assets } = readJson('nest-cli.json').compilerOptions;
  const sources = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(isCompiled);
  return (
    assets.every((file) => readText(join('dist', file)) === readText(join('src', file))) &&
    sources.every((file) => {
      const map = readJson(join('dist', file.replace(/ts$/, 'js.map')));
      return map?.sourcesContent?.[0] === readText(join('src', file));
    })
  );
}

/** Returns whether `nest build` compiles the file. It leaves out tests and names that begin with a dot. */
function isCompiled(file) {
  return /(?:^|[\\/])[^.\\/][^\\/]*\.ts$/.test(file) && !/\.(?:spec|d)\.ts$/.test(file);
}

/** Returns the text without a byte order mark, or undefined if there is no such file. */
function readText(file) {
  try {
    return new TextDecoder().decode(readFileSync(file));
  } catch {
    return undefined;
  }
}

function readJson(file) {
  try {
    return JSON.parse(readText(file));
  } catch {
    return undefined; // the file is missing or incomplete
  }
}
