// Tests the rules of CONTRIBUTING.md for imports. The rules apply to imports of types, too.
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from '@jest/globals';

/** Such as `import { a } from './a.js';`, also over several lines. */
const STATIC_IMPORT = /^(?:import|export) [^;]*?'(?<path>\.[^']+)\.[jt]s'/gm;
/** Such as `import('./a.js')`. */
const DYNAMIC_IMPORT = /\bimport\('(?<path>\.[^']+)\.[jt]s'\)/gm;

function findImports(file: string): string[] {
  const text = readFileSync(join('src', file), 'utf8');
  const found = [...text.matchAll(STATIC_IMPORT), ...text.matchAll(DYNAMIC_IMPORT)];
  return found.map(({ groups }) => join(dirname(file), `${groups?.['path']}.ts`));
}

const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(
  (name) => name.endsWith('.ts') && !name.endsWith('.spec.ts'),
);
const imports = new Map(files.map((file) => [file, findImports(file)]));

it.each([
  { kind: 'static imports', file: 'app.module.ts', imported: 'order-update/order-update.module.ts' },
  { kind: 'dynamic imports', file: 'main.ts', imported: 'bootstrap/start-service.ts' },
  { kind: 'imports that end in .ts', file: 'demo/postgres-server.ts', imported: 'demo/postgres-failures.ts' },
])('the tests below also check $kind', ({ file, imported }) => {
  expect(imports.get(file)).toContain(imported);
});

it('no imports run in a circle', () => {
  const done = new Set<string>();
  /** Returns a circle of imports, or undefined. The search came to the file through `importers`. */
  const findCircle = (file: string, importers: readonly string[]): readonly string[] | undefined => {
    const path = [...importers, file];
    if (importers.includes(file)) return path;
    if (done.has(file)) return undefined;
    const circles = imports.get(file)?.map((imported) => findCircle(imported, path));
    done.add(file);
    return circles?.find((circle) => circle !== undefined);
  };
  for (const file of files) expect(findCircle(file, [])).toBeUndefined();
});

it('no file outside of an area imports the area, except app.module.ts', () => {
  const areaOf = (file: string): string | undefined => /^order-[^/]+/.exec(file)?.[0];
  const wrong = Array.from(imports).flatMap(([file, imported]) =>
    imported
      .filter((each) => areaOf(each) !== undefined && areaOf(each) !== areaOf(file))
      .map((each) => `${file} imports ${each}`),
  );
  expect(wrong.filter((line) => !line.startsWith('app.module.ts '))).toEqual([]);
});
