// Writes the version of package.json into the files that cannot read it themselves. `npm version` runs this script.
// With --check it writes nothing, and fails if a file has another version.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';

const PROJECT = join(import.meta.dirname, '..');
const { version } = JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8'));

/** The files, each with a pattern of the text before the version. */
const PLACES = {
  'README.md': /^Version /m,
  'src/documentation/openapi.yaml': /^  version: /m,
  Dockerfile: /org\.opencontainers\.image\.version=/,
  'deploy/kubernetes/kustomization.yaml': /(?:newTag|app.kubernetes.io\/version): /,
  'docs/kubernetes.md': /(?:order-lookup-services:|newTag: )/,
};
/** Matches 4.2.0 and 5.0.0-rc.1. */
const VERSION = String.raw`\d+\.\d+\.\d+(?:-[\w.]*\w)?`;

const changelog = readFileSync(join(PROJECT, 'CHANGELOG.md'), 'utf8');
if (!new RegExp(`^## \\[${version.replaceAll('.', '\\.')}\\] - \\d{4}-\\d\\d-\\d\\d$`, 'm').test(changelog)) {
  console.error(`CHANGELOG.md has no section "## [${version}] - YYYY-MM-DD": write it first.`);
  process.exit(1);
}
const isCheck = process.argv.includes('--check');
const differingFiles = [];
for (const [name, before] of Object.entries(PLACES)) {
  const path = join(PROJECT, name);
  const text = readFileSync(path, 'utf8');
  const place = new RegExp(`(?<=${before.source})${VERSION}`, `g${before.flags}`);
  if (text.search(place) === -1) throw new Error(`${name} has no place for the version: ${place.source}`);
  const corrected = text.replace(place, version);
  if (corrected === text) continue;
  differingFiles.push(name);
  if (!isCheck) writeFileSync(path, corrected);
}

if (isCheck && differingFiles.length > 0) {
  console.error(`Not version ${version}: ${differingFiles.join(', ')}`);
  process.exit(1);
}
