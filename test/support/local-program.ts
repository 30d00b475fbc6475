import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { types } from 'node:util';
import { type Outcome, PROJECT, cleanEnvironment } from './program.js';
import { replaceProperties } from './replace-properties.js';

const { [Symbol.hasInstance]: isInstance } = Function.prototype;

acceptErrorsOfNode();

interface LocalRun {
  /** Its name, such as `migrate`. */
  readonly program: string;
  readonly words: readonly string[];
  readonly environment: Record<string, string>;
  /** A copy of the project; the project itself if it is left out. */
  readonly folder?: string | undefined;
  /** What it reads from its standard input, which ends with it. */
  readonly input?: string | undefined;
  /** Input and output are those of somebody at a terminal. */
  readonly isTerminal?: boolean;
}

/** Each run imports the program under another address, so that it is executed again. What it imports is loaded once. */
let runs = 0;
let isRunning = false;

/** @throws Error where a variable is read by Node.js or OpenTelemetry, once for the process */
export function assertLocal(environment: Record<string, string>): void {
  const names = Object.keys(environment).filter((name) => /^(NODE|OTEL)_/.test(name));
  if (names.length > 0) throw new Error(`${names.join()} needs a process of its own`);
}

/**
 * Runs a program of ours to its end in the process of the test, which takes a tenth of the time of a process of its
 * own. While it runs, `process` has the arguments, the environment and the output of the program. So there can be one
 * at a time; two at once, signals and `process.exit` are tested with `begin`.
 */
export async function runLocally(run: LocalRun): Promise<Outcome> {
  assertLocal(run.environment);
  if (isRunning) throw new Error('Another program runs in this process: use begin() for two.');
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

/** Runs a line such as `keys list`, whose words hold no spaces, in the process of the test. */
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
 * Within Jest, errors that Node.js itself makes (of TLS, of parseArgs, …) are no instances of the Error that modules
 * see. For what is run in the process of the test they are, as they are everywhere else. Classes that extend Error
 * inherit it.
 */
function acceptErrorsOfNode(): void {
  Object.defineProperty(Error, Symbol.hasInstance, { value: hasInstance, configurable: true });
}
