import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { WAIT_LIMIT_MS, limitWait } from './waiting.ts';

export const PROJECT = process.cwd();

export const readText = (path: string): string => readFileSync(join(PROJECT, path), 'utf8');

/** Adds PATH, HOME and TMPDIR of the test. remove-run.mjs finds the programs of a killed run by TMPDIR. */
export function cleanEnvironment(environment: Record<string, string>): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR } = process.env;
  return { PATH, HOME, TMPDIR, ...environment };
}

export interface Outcome {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningProgram {
  readonly child: ChildProcess;
  /** The output of the program so far. */
  readonly output: { stdout: string; stderr: string };
  /** Use `endOf` to wait for the end, because `endOf` has a time limit. */
  readonly ended: Promise<Outcome>;
}

/** Starts a program, whose standard input is empty. */
export function startProgram(
  [program = '', ...words]: readonly string[],
  cwd: string,
  environment: Record<string, string>,
): RunningProgram {
  const child = spawn(program, words, { env: cleanEnvironment(environment), cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
    });
  const ended = new Promise<Outcome>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => resolve({ status, ...output }));
  });
  return { child, output, ended };
}

/** Waits until a program ends. After the limit, kills it, but not its children, and throws an error with its output. */
export async function endOf({ child, output, ended }: RunningProgram, limitMs = WAIT_LIMIT_MS): Promise<Outcome> {
  const name = child.spawnargs.join(' ');
  try {
    return await limitWait(
      () => `the end of ${name}. Its output so far: ${output.stdout}${output.stderr}`,
      () => ended,
      { limitMs },
    );
  } finally {
    child.kill('SIGKILL'); // does nothing if the program has ended
  }
}

/** Runs a program of dist/ to its end. */
export const run = (program: string, words: string[], environment: Record<string, string>): Promise<Outcome> =>
  endOf(startProgram([process.execPath, `dist/${program}`, ...words], PROJECT, environment));

/** Runs a command as a person types it. */
export const shell = (
  command: string,
  folder: string,
  environment: Record<string, string>,
  limitMs?: number,
): Promise<Outcome> => endOf(startProgram(['sh', '-c', command], folder, environment), limitMs);
