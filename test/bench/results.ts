import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';

/** The machine, the program and its version, in words. */
export function circumstances(): string {
  const commit = execFileSync('git', ['describe', '--always', '--dirty'], { encoding: 'utf8' });
  return `Commit \`${commit.trim()}\`, ${new Date().toISOString().slice(0, 10)}, ${cpus().length} × ${cpus()[0]?.model.trim()}, Node.js ${process.version}`;
}

/** Writes what a command printed into a page of results, in the place of what it printed before. */
export function saveResult(file: string, command: string, found: string): void {
  const [head = '', ...sections] = (existsSync(file) ? readFileSync(file, 'utf8') : '').split(
    /^## /m,
  );
  const kept = sections.filter((section) => !section.startsWith(`\`${command}\`\n`));
  const text = found.trim().startsWith('|') ? found.trim() : `\`\`\`text\n${found.trim()}\n\`\`\``;
  const section = `\`${command}\`\n\n${circumstances()}\n\n${text}\n\n`;
  const title =
    head.trim() ||
    '# Results\n\nWritten by the commands themselves; figures depend on the machine.';
  const all = [...kept, section].toSorted((a, b) => (a < b ? -1 : 1)).map((each) => `## ${each}`);
  writeFileSync(file, `${title}\n\n${all.join('').trim()}\n`);
}
