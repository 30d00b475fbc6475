// Writes the version of package.json into the files that cannot read it themselves. `npm version` runs this script.
// With --check it writes nothing, and fails if a file has another version.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';

const PROJECT = join(import.meta.dirname, '..');
const { version } = JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8'));

/** The files, each with the text before the version. */
const PLACES = {
  'README.md': /^Version /m,
  'src/documentation/openapi.yaml': /^  version: /m,
  Dockerfile: /org\.opencontainers\.image\.version=/,
  'deploy/kubernetes/kustomization.yaml': /(?:newTag|app.kubernetes.io\/version): /,
  'docs/kubernetes.md': /(?:order-lookup-services:|newTag: )/,
};
const VERSION = String.raw`\d+\.\d+\.\d+(?:-[\w.]*\w)?`;

const isCheck = process.argv.includes('--check');
/** The names of the files that have another version. Without --check they are corrected. */
const differing = Object.keys(PLACES).filter((name) => {
  const path = join(PROJECT, name);
  if (!existsSync(path)) return false;
  const text = readFileSync(path, 'utf8');
  const before = PLACES[name];
  const place = new RegExp(`(${before.source})${VERSION}`, `g${before.flags}`);
  if (!place.test(text)) throw new Error(`${name} has no place for the version: ${place.source}`);
  const written = text.replace(place, `$1${version}`);
  if (written !== text && !isCheck) writeFileSync(path, written);
  return written !== text;
});

const changelog = readFileSync(join(PROJECT, 'CHANGELOG.md'), 'utf8');
if (!new RegExp(`^## \\[${version.replaceAll('.', '\\.')}\\] - \\d{4}-\\d\\d-\\d\\d$`, 'm').test(changelog)) {
  console.error(`CHANGELOG.md has no section "## [${version}] - YYYY-MM-DD": write it first.`);
  process.exit(1);
}
if (isCheck && differing.length > 0) {
  console.error(`Not version ${version}: ${differing.join(', ')}`);
  process.exit(1);
}
