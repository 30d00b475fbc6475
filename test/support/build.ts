import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** @throws Error where something of the sources was written after the build: the tests start what was built */
export function assertBuilt(folders: { readonly built: string; readonly sources: string }): void {
  if (newest(folders.built, '.js') >= newest(folders.sources, '.ts')) return;
  throw new Error('dist/ is older than src/, and the tests start dist/: npm run build');
}

/** When the newest file of a kind was written; unit tests are not built. */
function newest(folder: string, kind: string): number {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const ofKind = files.filter((name) => name.endsWith(kind) && !name.endsWith(`.spec${kind}`));
  return Math.max(...ofKind.map((name) => statSync(join(folder, name)).mtimeMs));
}
