import { Command, CommanderError } from 'commander';
import { DatabaseError } from 'pg';
import { findRemedy } from '../../database/database-errors.js';
import { toMessage } from '../../telemetry/error-message.js';
import type { Terminal } from './ask.js';
import { showControlCharacters, showInvisible } from './invisible-characters.js';

/** The arguments, variables, streams and status of a program: those of `process`, or those that a test gives. */
export interface ProgramIo {
  readonly argv: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly stdin: Terminal['input'];
  readonly stdout: Terminal['output'];
  readonly stderr: NodeJS.WritableStream;
  /**
   * 0: the command is done. 1: it could not do its work, or `migrate status` found an applied migration without a file.
   * 2: it is done, and its caller should stop. Do not change the meaning of a status: pipelines decide by it.
   */
  exitCode?: typeof process.exitCode;
}

/** The NAME in `npm run NAME` and `dist/NAME.js`. */
export type ProgramName = 'migrate' | 'keys' | 'codes' | 'doctor';

interface ProgramOptions {
  readonly name: ProgramName;
  /** Empty if the program is a single command. */
  readonly commands: readonly Command[];
  /** Printed below the help. */
  readonly notes: string;
}

/** Do not read the options that npm takes from `npm_config_…`: .npmrc may set the same variables. */
const NPM_RULE = 'Without "--", npm reads the options itself and does not pass them on.';

export function createProgram({ name, commands, notes }: ProgramOptions, { stdout }: ProgramIo): Command {
  const program = new Command(isStartedByNpm() ? `npm run ${name} --` : `node dist/${name}.js`)
    .addHelpText('after', ['', notes, ...describeNpmRule()].join('\n'))
    .helpCommand(false)
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: () => undefined, // `runProgram` prints errors
    })
    .exitOverride();
  for (const command of commands) program.addCommand(command.copyInheritedSettings(program));
  return program;
}

/** Runs the command that was typed. If it fails, prints a sentence on standard error, and sets status 1. */
export async function runProgram(program: Command, io: ProgramIo): Promise<void> {
  ignoreClosedPipe(io);
  try {
    await program.parseAsync(io.argv);
  } catch (error) {
    const isHelp = error instanceof CommanderError && error.exitCode === 0;
    if (isHelp) return; // commander has printed the help
    const sentence = error instanceof CommanderError ? describeUsage(error, program, io) : describeError(error);
    io.stderr.write(`${showInvisibleInLines(sentence)}\n`);
    io.exitCode = 1;
  }
}

/** Prints text for people, with its line breaks. If a value may contain any, call `showInvisible` on it first. */
export function print(io: ProgramIo, text: string): void {
  io.stdout.write(`${showInvisibleInLines(text)}\n`);
}

export function printJson(io: ProgramIo, value: unknown): void {
  io.stdout.write(`${showControlCharacters(JSON.stringify(value))}\n`);
}

/** Escapes invisible characters, but keeps line breaks. A text may quote what others have written or typed. */
function showInvisibleInLines(text: string): string {
  return text.split('\n').map(showInvisible).join('\n');
}

/** Returns a command line to type: `npm run …` if npm started this program, else `node dist/…`, as in the image. */
export function formatCommandLine(program: ProgramName, words = ''): string {
  if (!isStartedByNpm()) return `node dist/${program}.js ${words}`.trimEnd();
  return words === '' ? `npm run ${program}` : `npm run ${program} -- ${words}`;
}

/** Returns the text that people read if an error ends a command. */
export function describeError(error: unknown): string {
  const origin = error instanceof DatabaseError ? 'PostgreSQL refused this: ' : '';
  const sentence = `${origin}${toMessage(error)}`;
  const remedy = findRemedy(error);
  return remedy === undefined ? sentence : `${sentence.replace(/\.$/, '')}. ${remedy}`;
}

function describeUsage({ code, message }: CommanderError, program: Command, { argv }: ProgramIo): string {
  const [, , word] = argv;
  const command = program.commands.find((known) => known.name() === word) ?? program;
  const names = program.commands.map((known) => known.name());
  const isCommandMissing = code === 'commander.help';
  // For example "error: unknown command 'plna'\n(Did you mean plan?)"
  const fault = message
    .replace(/^error: (?:command-argument )?/, '')
    .replace('\n', ' ')
    .replace(/\.$/, '');
  const sentence = isCommandMissing ? `a command is missing: ${names.join(', ')}` : fault;
  const usage = command === program ? program.name() : `${program.name()} ${command.name()}`;
  // Without "--" npm keeps the option `--from`, and passes on only `FILE.csv`, which is then an excess argument
  const rule = code === 'commander.excessArguments' ? describeNpmRule() : [];
  return [`${sentence}. Usage: ${usage} ${command.usage()}`, ...rule].join('. ');
}

/** If the reader of the output closes it early, as `head` does, the command goes on and keeps its status. */
function ignoreClosedPipe({ stdout }: ProgramIo): void {
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') process.exit(1); // for example, the disk is full, so a part of the output is lost
  });
}

/** Reads `process.env`, because many callers of `formatCommandLine` have no ProgramIo. */
function isStartedByNpm(): boolean {
  return process.env['npm_lifecycle_event'] !== undefined;
}

function describeNpmRule(): string[] {
  return isStartedByNpm() ? [NPM_RULE] : [];
}
