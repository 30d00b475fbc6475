import type { ParseArgsConfig, parseArgs } from 'node:util';

type Options = NonNullable<ParseArgsConfig['options']>;
type Values<O extends Options> = ReturnType<typeof parseArgs<{ options: O }>>['values'];

/** A fault in the operator's environment or input. Its message says what was found and how to correct it. */
export class AdministrationError extends Error {}

export function refuse(message: string): never {
  throw new AdministrationError(message);
}

export interface Outcome {
  /** For people. */
  readonly text: string;
  /** The text is printed as it is, without a newline at the end. */
  readonly exact?: boolean;
  /** For programs: printed instead of the text where the option --json was given. */
  readonly json?: unknown;
  /** 1: what was printed is a failure. 2: the command found something that its caller should stop for. */
  readonly status?: 0 | 1 | 2;
}

/** How many words may follow the name of a command, options aside. */
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
  run(values: Values<O>, operands: readonly string[]): Promise<Outcome>;
}

/** An option with a value, and one without. */
export const TEXT = { type: 'string' } as const;
export const FLAG = { type: 'boolean' } as const;

/** Gives `run` the types of the options. */
export function command<const O extends Options>(definition: Command<O>): Command {
  return definition;
}

/** A command line as a person types it: through npm in a clone, directly in the image. */
export function typed(program: string, words = ''): string {
  const isThroughNpm = process.env['npm_lifecycle_event'] !== undefined;
  if (!isThroughNpm) return `node dist/${program}.js ${words}`.trimEnd();
  return words === '' ? `npm run ${program}` : `npm run ${program} -- ${words}`;
}
