import { spawn } from 'node:child_process';
import { join } from 'node:path';

/** The folder of the project. */
export const PROJECT = process.cwd();

/** What a program of ours may see of the environment of the tests. */
export function cleanEnvironment(environment: Record<string, string>): NodeJS.ProcessEnv {
  const { PATH, HOME } = process.env;
  return { PATH, HOME, ...environment };
}

export interface Outcome {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program of dist/ to its end. */
export const run = (
  program: string,
  words: string[],
  environment: Record<string, string>,
  input = '',
): Promise<Outcome> =>
  toItsEnd(
    process.execPath,
    [join(PROJECT, 'dist', program), ...words],
    PROJECT,
    environment,
    input,
  );

/** Runs a command as a person types it. */
export const shell = (
  command: string,
  folder: string,
  environment: Record<string, string>,
): Promise<Outcome> => toItsEnd('sh', ['-c', command], folder, environment);

function toItsEnd(
  program: string,
  words: string[],
  cwd: string,
  environment: Record<string, string>,
  input = '',
): Promise<Outcome> {
  const child = spawn(program, words, { env: cleanEnvironment(environment), cwd });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => (output[name] += text));
  child.stdin.once('error', () => undefined).end(input); // it may end without reading
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => resolve({ status, ...output }));
  });
}
