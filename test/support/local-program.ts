import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import type { ProgramIo, ProgramName } from '../../src/administration/cli/program.js';
import { type Outcome, PROJECT, cleanEnvironment } from './program.js';
import { limitWait } from './waiting.js';

interface LocalRun {
  readonly program: ProgramName;
  readonly words: readonly string[];
  readonly environment: Record<string, string>;
  /** The folder of a copy of the project. The default is the folder of the project itself. */
  readonly folder?: string | undefined;
  /** The whole text on standard input. */
  readonly input?: string | undefined;
  /** True if standard input and output seem to be a terminal. */
  readonly isTerminal?: boolean;
}

/** The function that `administration/NAME.program.ts` exports, by NAME. */
const RUN_FUNCTIONS = { migrate: 'runMigrate', keys: 'runKeys', codes: 'runCodes', doctor: 'runDoctor' } as const;

type ProgramModule = Readonly<Record<(typeof RUN_FUNCTIONS)[ProgramName], (io: ProgramIo) => Promise<void>>>;

/** @throws Error if a variable begins with NODE_ or OTEL_, because a process reads these only when it starts */
export function assertNoProcessVariables(environment: Record<string, string>): void {
  const names = Object.keys(environment).filter((name) => /^(NODE|OTEL)_/.test(name));
  if (names.length > 0) throw new Error(`${names.join()} needs a process of its own`);
}

/**
 * Runs one of the four programs to its end in the process of the test, ten times as fast as in a new process. To test
 * signals, use `startProgram` (program.ts), which starts a process.
 */
export async function runLocally({
  program,
  words,
  environment,
  folder = PROJECT,
  input,
  isTerminal = false,
}: LocalRun): Promise<Outcome> {
  assertNoProcessVariables(environment);
  const stdout = collect();
  const stderr = collect();
  const io: ProgramIo = {
    argv: [process.execPath, join(folder, `dist/${program}.js`), ...words],
    env: cleanEnvironment(environment),
    stdin: Object.assign(Readable.from(input ? [input] : []), { isTTY: isTerminal }),
    stdout: Object.assign(stdout.stream, { isTTY: isTerminal }),
    stderr: stderr.stream,
  };
  const module = (await import(join(folder, `dist/administration/${program}.program.js`))) as ProgramModule;
  await limitWait(
    () => `the end of ${program} ${words.join(' ')}. Its output so far: ${stdout.text()}${stderr.text()}`,
    () => module[RUN_FUNCTIONS[program]](io),
  );
  return { status: Number(io.exitCode ?? 0), stdout: stdout.text(), stderr: stderr.text() };
}

/** Runs a line such as `keys list` in the process of the test. A word of the line cannot contain a space. */
export function runLine(line: string, environment: Record<string, string>, folder?: string): Promise<Outcome> {
  const [program, ...words] = line.split(' ');
  return runLocally({ program: program as ProgramName, words, environment, folder });
}

function collect(): { stream: Writable; text: () => string } {
  let text = '';
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      text += chunk.toString();
      done();
    },
  });
  return { stream, text: () => text };
}
