// Imports run one way (CONTRIBUTING.md), also imports of types.
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from '@jest/globals';

const IMPORT = /^(?:import|export) [^;]*?'(\.[^']+)\.[jt]s'|\bimport\('(\.[^']+)\.[jt]s'\)/gm;
const imports = new Map(
  readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.spec.ts'))
    .map((name) => {
      const found = readFileSync(join('src', name), 'utf8').matchAll(IMPORT);
      const of = ([, fixed, dynamic]: string[]) => join(dirname(name), `${fixed ?? dynamic}.ts`);
      return [name, Array.from(found, of)] as const;
    }),
);

it('no imports run in a circle', () => {
  const done = new Set<string>();
  const circleFrom = (file: string, path: readonly string[]): readonly string[] => {
    const way = [...path, file];
    if (path.includes(file)) return way;
    if (done.has(file)) return [];
    const circle = imports.get(file)?.map((next) => circleFrom(next, way));
    done.add(file);
    return circle?.find(({ length }) => length > 0) ?? [];
  };
  expect(imports.get('app.module.ts')).toContain('order-update/order-update.module.ts');
  expect(imports.get('demo/postgres-server.ts')).toContain('demo/postgres-failures.ts');
  for (const file of imports.keys()) expect(circleFrom(file, [])).toEqual([]);
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
