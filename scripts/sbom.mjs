// `npm run sbom`: a CycloneDX bill of the packages that the service runs with, made by `npm sbom` from
// package-lock.json. Its option --omit=dev leaves out every package that a development dependency needs as well, so it
// gets a lock file without those.
import { execSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const project = join(import.meta.dirname, '..');
const folder = mkdtempSync(join(tmpdir(), 'sbom-'));
try {
  const { devDependencies: _, ...description } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'));
  writeFileSync(join(folder, 'package.json'), JSON.stringify(description));
  cpSync(join(project, 'package-lock.json'), join(folder, 'package-lock.json'));
  const npm = (words, stdout) =>
    execSync(`npm ${words} --package-lock-only --loglevel=error`, {
      cwd: folder,
      stdio: ['ignore', stdout, 'inherit'],
    });
  npm('install --offline', 'ignore');
  npm('sbom --sbom-format=cyclonedx --sbom-type=application', 'inherit');
} finally {
  rmSync(folder, { recursive: true });
}
