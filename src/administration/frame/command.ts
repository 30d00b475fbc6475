import type { ParseArgsConfig, parseArgs } from 'node:util';

type Options = NonNullable<ParseArgsConfig['options']>;
type Values<O extends Options> = ReturnType<
  typeof parseArgs<{ options: O; strict: true }>
>['values'];

/** A fault in the operator's environment or input. Its message says what was found and how to correct it. */
export class AdministrationError extends Error {}

/** The result of a command. */
export interface Outcome {
  /** For people, without a final newline; with `exact` it is written byte for byte. */
  readonly text: string;
  /** For programs, if the command has the option `json`. */
  readonly json?: unknown;
  readonly exact?: boolean;
  /** The command did its work and found something that its caller should stop for: status 2. */
  readonly found?: boolean;
  /** The command printed its result, and the result is a failure: status 1. */
  readonly failed?: boolean;
}

export interface Command {
  /** Its operands and options, such as `NAME [--from FILE.csv]`. */
  readonly usage: string;
  /** What it does, in half a sentence. */
  readonly summary: string;
  readonly options: Options;
  /** The smallest and the largest number of words that are not options. */
  readonly operands: readonly [number, number];
  run(values: Readonly<Record<string, unknown>>, operands: readonly string[]): Promise<Outcome>;
}

/** A program such as `migrate`: its commands, by the word that follows its name. A program without such words has one command, named ''. */
export interface Program {
  readonly name: string;
  readonly commands: Readonly<Record<string, Command>>;
  /** What else `--help` says. */
  readonly notes: string;
}

/** Options are those of parseArgs; `run` gets their typed values. Every command has `--help`. */
export const command = <const O extends Options>(definition: {
  usage?: string;
  summary: string;
  options?: O;
  operands?: readonly [number, number];
  run: (values: Values<O>, operands: readonly string[]) => Promise<Outcome>;
}): Command => ({ usage: '', options: {}, operands: [0, 0], ...definition }) as unknown as Command;

/** A command line as a person types it: through npm in a clone, directly in the image. */
export function typed(program: string, ...words: readonly string[]): string {
  if (process.env['npm_lifecycle_event'] === undefined)
    return [`node dist/${program}.js`, ...words].join(' ');
  return [`npm run ${program}`, ...(words.length > 0 ? ['--', ...words] : [])].join(' ');
}
