import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';

const TITLE = '# Results\n\nWritten by the commands themselves; figures depend on the machine.';

/** Returns the commit, the day, the machine and the version of Node.js, in words. */
function describeCircumstances(): string {
  const commit = execFileSync('git', ['describe', '--always', '--dirty'], { encoding: 'utf8' });
  const day = new Date().toISOString().slice(0, 10);
  const machine = `${cpus().length} × ${cpus()[0]?.model.trim()}`;
  return `Commit \`${commit.trim()}\`, ${day}, ${machine}, Node.js ${process.version}`;
}

/** Writes the output of a command into a page of results, in place of the former output of this command. */
export function saveResult(file: string, command: string, output: string): void {
  const page = existsSync(file) ? readFileSync(file, 'utf8') : TITLE;
  const [title = TITLE, ...sections] = page.split(/^## /m);
  const others = sections.filter((section) => !section.startsWith(`\`${command}\`\n`));
  const result = output.trim();
  const isTable = result.startsWith('|');
  const text = isTable ? result : `\`\`\`text\n${result}\n\`\`\``;
  const section = `\`${command}\`\n\n${describeCircumstances()}\n\n${text}\n\n`;
  const sorted = [...others, section].toSorted();
  const body = sorted.map((each) => `## ${each}`).join('');
  writeFileSync(file, `${title.trim()}\n\n${body.trim()}\n`);
}
