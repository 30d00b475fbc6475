// `--json FILE` keeps the ratios of a run; `--against FILE` says which of them changed beyond the spread.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { type Spread, inWords } from './spread.js';

/** The ratios of a run, by their names. */
export type Ratios = Readonly<Record<string, Spread>>;

interface Run {
  readonly commit: string;
  readonly machine: string;
  readonly ratios: Ratios;
}

export function saveRun(file: string, machine: string, ratios: Ratios): void {
  const commit = execFileSync('git', ['describe', '--always', '--dirty'], { encoding: 'utf8' });
  const run: Run = { commit: commit.trim(), machine, ratios };
  writeFileSync(file, `${JSON.stringify(run, undefined, 2)}\n`);
}

/**
 * What changed since the run in `file`. A ratio changed where its rounds and those of the earlier run do not overlap.
 * @throws Error where the file holds no run
 */
export function compareWith(file: string, now: Ratios): string {
  const before = JSON.parse(readFileSync(file, 'utf8')) as Partial<Run>;
  if (!before.ratios) throw new Error(`${file} holds no run: make one with --json ${file}`);
  const rows = Object.entries(now).flatMap(([name, spread]) => {
    const former = before.ratios?.[name];
    if (!former) return [];
    const verdict =
      spread.smallest > former.largest
        ? 'larger'
        : spread.largest < former.smallest
          ? 'smaller'
          : 'within the spread';
    return [`| ${name} | ${inWords(former)} | ${inWords(spread)} | ${verdict} |`];
  });
  return `
Compared with the run of ${before.commit} (${before.machine}):

| Ratio | then | now | |
|---|---|---|---|
${rows.join('\n')}
`;
}
