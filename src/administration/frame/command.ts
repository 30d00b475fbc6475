import type { ParseArgsConfig, parseArgs } from 'node:util';

type Options = NonNullable<ParseArgsConfig['options']>;
type Values<O extends Options> = ReturnType<typeof parseArgs<{ options: O }>>['values'];

/** A fault in the operator's environment or input. Its message says what was found and how to correct it. */
export class AdministrationError extends Error {}

export interface Outcome {
  /** For people, without a final newline; with `exact` it is written byte for byte. */
  readonly text: string;
  readonly exact?: boolean;
  /** For programs, if the command has the option `json`. */
  readonly json?: unknown;
  /** Status 2: the command did its work, and found something that its caller should stop for. */
  readonly found?: boolean;
  /** Status 1: the command printed its result, and the result is a failure. */
  readonly failed?: boolean;
}

interface Definition<O extends Options> {
  /** Its operands and options, such as `NAME [--from FILE.csv]`. */
  readonly usage?: string;
  readonly summary: string;
  readonly options?: O;
  /** The smallest and the largest number of words that are not options. */
  readonly operands?: readonly [number, number];
  run(values: Values<O>, operands: readonly string[]): Promise<Outcome>;
}
export type Command = Required<Definition<Options>>;

export const TEXT = { type: 'string' } as const;
export const FLAG = { type: 'boolean' } as const;

/** Options are those of parseArgs; `run` gets their typed values. Every command has `--help`. */
export const command = <const O extends Options>(definition: Definition<O>): Command =>
  ({ usage: '', options: {}, operands: [0, 0], ...definition }) as unknown as Command;

/** A command line as a person types it: through npm in a clone, directly in the image. */
export function typed(program: string, ...words: readonly string[]): string {
  const rest = words.join(' ').trim();
  if (process.env['npm_lifecycle_event'] === undefined)
    return `node dist/${program}.js ${rest}`.trim();
  return `npm run ${program}${rest && ` -- ${rest}`}`;
}
