import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { types } from 'node:util';
import { type Outcome, PROJECT, cleanEnvironment } from './program.js';
import { replaceProperties } from './replace-properties.js';

const { [Symbol.hasInstance]: isInstance } = Function.prototype;

acceptErrorsOfNode();

interface LocalRun {
  /** The name of the program, such as `migrate`. */
  readonly program: string;
  readonly words: readonly string[];
  readonly environment: Record<string, string>;
  /** The folder of a copy of the project. By default the project itself is used. */
  readonly folder?: string | undefined;
  /** The text on standard input. After this text the input ends. */
  readonly input?: string | undefined;
  /** True if standard input and output seem to be a terminal. */
  readonly isTerminal?: boolean;
}

/** The number of runs. A run has it in the address of the import, because Node.js executes each address only once. */
let runs = 0;
let isRunning = false;

/** @throws Error if Node.js or OpenTelemetry reads a variable of these: they read it only once in a process */
export function assertLocal(environment: Record<string, string>): void {
  const names = Object.keys(environment).filter((name) => /^(NODE|OTEL)_/.test(name));
  if (names.length > 0) throw new Error(`${names.join()} needs a process of its own`);
}

/**
 * Runs a program of ours to its end in the process of the test. This takes a tenth of the time of a process of its own.
 * During the run, `process` has the arguments, the environment and the output of the program. So only one program can
 * run at a time. Use `startProgram` to test two programs at the same time, signals, and `process.exit`.
 */
export async function runLocally(run: LocalRun): Promise<Outcome> {
  assertLocal(run.environment);
  if (isRunning) throw new Error('Another program runs in this process: use startProgram() for two.');
  isRunning = true;
  runs += 1;
  const output = { stdout: '', stderr: '' };
  const file = join(run.folder ?? PROJECT, `dist/${run.program}.js`);
  const restore = replaceProperties(process, {
    argv: [process.execPath, file, ...run.words],
    env: cleanEnvironment(run.environment),
    exitCode: undefined,
    stdin: toInput(run),
    stdout: Object.assign(
      writableTo((text) => {
        output.stdout += text;
      }),
      { isTTY: run.isTerminal ?? false },
    ),
    stderr: writableTo((text) => {
      output.stderr += text;
    }),
  });
  try {
    await import(`${file}?run=${runs}`);
    return { status: Number(process.exitCode ?? 0), ...output };
  } finally {
    restore();
    isRunning = false;
  }
}

/** Runs a line such as `keys list` in the process of the test. Its words must not contain spaces. */
export function runLine(line: string, environment: Record<string, string>): Promise<Outcome> {
  const [program = '', ...words] = line.split(' ');
  return runLocally({ program, words, environment });
}

function toInput({ input, isTerminal = false }: LocalRun): Readable {
  const stdin = Readable.from(input ? [input] : []);
  return Object.assign(stdin, { isTTY: isTerminal });
}

function writableTo(take: (text: string) => void): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      take(chunk.toString());
      done();
    },
  });
}

function hasInstance(this: typeof Error, value: unknown): boolean {
  if ((this as unknown) === AggregateError) return types.isNativeError(value) && 'errors' in value;
  if (this !== Error) return isInstance.call(this, value);
  return types.isNativeError(value) || value instanceof DOMException;
}

/**
 * Makes errors of Node.js itself, such as those of TLS, instances of the modules' `Error`. Jest gives modules an
 * `Error` of their own, so `instanceof Error` would be false for them. Classes that extend `Error` inherit this.
 */
function acceptErrorsOfNode(): void {
  Object.defineProperty(Error, Symbol.hasInstance, { value: hasInstance, configurable: true });
}
