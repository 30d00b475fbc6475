import type { ParseArgsConfig, parseArgs } from 'node:util';

type Options = NonNullable<ParseArgsConfig['options']>;
type Values<O extends Options> = ReturnType<typeof parseArgs<{ options: O }>>['values'];

/** A fault in the operator's environment or input. Its message says what was found and how to correct it. */
export class AdministrationError extends Error {}

/** A statement of its own; `return refuse(…)` only at the end of a function that otherwise returns something. */
export function refuse(message: string): never {
  throw new AdministrationError(message);
}

/**
 * With which status a program ends. Pipelines decide by it, so a command never changes what it means by one.
 *
 * | status | the command                                                   | prints on                         |
 * | ------ | ------------------------------------------------------------- | --------------------------------- |
 * | 0      | is done, and there is nothing to stop for                     | standard output                   |
 * | 1      | threw an error, or has an outcome that is a failure           | standard error or standard output |
 * | 2      | is done, and found danger or a fault: its caller should stop  | standard output                   |
 */
type Status = 0 | 1 | 2;

export interface Outcome {
  /** For people. */
  readonly text: string;
  /** The text is printed as it is, without a newline at the end. */
  readonly exact?: boolean;
  /** For programs: printed instead of the text where the option --json was given. */
  readonly json?: unknown;
  /** Without it: 0. */
  readonly status?: Status;
}

/** How many words follow the name of a command, at least and at most. Options and their values are not counted. */
interface Operands {
  readonly least: number;
  readonly most: number;
}

export interface Command<O extends Options = Options> {
  /** What is typed behind the name of the command. */
  readonly usage?: string;
  readonly operands?: Operands;
  readonly summary: string;
  readonly options?: O;
  /** A method, and no property: only so TypeScript takes a command with options of its own for a `Command`. */
  run(values: Values<O>, operands: readonly string[]): Promise<Outcome>;
}

/** An option with a value, and one without. */
export const TEXT = { type: 'string' } as const;
export const FLAG = { type: 'boolean' } as const;

/** A definition as it is. Its call lets TypeScript find the types of the options, so that `run` gets them. */
export function command<const O extends Options>(definition: Command<O>): Command {
  return definition;
}

/**
 * A command line as a person types it: through npm where this program was started by it, as in a clone, and otherwise
 * by node, as in the image.
 */
export function typed(program: string, words = ''): string {
  const isThroughNpm = process.env['npm_lifecycle_event'] !== undefined;
  if (!isThroughNpm) return `node dist/${program}.js ${words}`.trimEnd();
  return words === '' ? `npm run ${program}` : `npm run ${program} -- ${words}`;
}
