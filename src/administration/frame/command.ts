import { type ParseArgsConfig, parseArgs } from 'node:util';
import { DatabaseError } from 'pg';
import { messageOf } from '../../telemetry/error-message.js';

type Options = NonNullable<ParseArgsConfig['options']>;
type Values<O extends Options> = ReturnType<typeof parseArgs<{ options: O }>>['values'];

/** A fault in the operator's environment or input. Its message says what was found and how to correct it. */
export class AdministrationError extends Error {}
export function refuse(message: string): never {
  throw new AdministrationError(message);
}

interface Definition<O extends Options> {
  readonly usage?: string;
  readonly operands?: readonly [least: number, most: number];
  readonly summary: string;
  readonly options?: O;
  run(values: Values<O>, operands: readonly string[]): Promise<Outcome>;
}
type Command = Required<Definition<Options>>;

interface Outcome {
  readonly text: string; // for people
  readonly exact?: boolean; // without a newline at the end
  readonly json?: unknown; // for programs, where the option was given
  /** 2: the command found something that its caller should stop for; 1: what it printed is a failure. */
  readonly status?: 0 | 1 | 2;
}

export const TEXT = { type: 'string' } as const;
export const FLAG = { type: 'boolean' } as const;

export const command = <const O extends Options>(definition: Definition<O>) =>
  ({ usage: '', operands: [0, 0], options: {}, ...definition }) as unknown as Command;

/** A command line as a person types it: through npm in a clone, directly in the image. */
export function typed(program: string, ...words: readonly string[]): string {
  const rest = words.join(' ').trim();
  if (!process.env['npm_lifecycle_event']) return `node dist/${program}.js ${rest}`.trim();
  return `npm run ${program}${rest && ` -- ${rest}`}`;
}

const NPM = ['Without "--" npm takes options for its own and does not pass them on.'];
const ABOUT_NPM = process.env['npm_lifecycle_event'] ? NPM : [];

/** Runs the command that the first argument names; the only one of a program is named ''. A failure is a sentence on standard error, and status 1. */
export async function runProgram(name: string, commands: Record<string, Command>, notes: string) {
  // The reader of the output may close it early, as `head` does
  process.stdout.on('error', ({ message }) => process.exit(message.includes('EPIPE') ? 0 : 1));
  const args = process.argv.slice(2);
  if (args.includes('--help')) {
    const lines = Object.entries(commands).map(
      ([word, { usage, summary }]) => `  ${typed(name, word, usage)}\n      ${summary}\n`,
    );
    process.stdout.write(`Usage:\n${lines.join('')}${[notes, ...ABOUT_NPM].join('\n')}\n`);
    return;
  }
  try {
    const word = '' in commands ? '' : (args.shift() ?? '');
    const chosen = Object.hasOwn(commands, word) ? commands[word] : undefined;
    if (!chosen)
      refuse(`"${word}" is not a command of ${name}: ${Object.keys(commands).join(', ')}, --help.`);
    const { values, positionals } = parsed(chosen, args, typed(name, word, chosen.usage));
    const { text, json, exact, status = 0 } = await chosen.run(values, positionals);
    process.stdout.write(values['json'] ? `${JSON.stringify(json)}\n` : exact ? text : `${text}\n`);
    process.exitCode = status;
  } catch (error) {
    const origin = error instanceof DatabaseError ? 'PostgreSQL refused this: ' : '';
    const { code } = error as { code?: unknown }; // TypeORM's errors have it, too
    const remedies: Record<string, string> = {
      '42P01': `. Apply the migrations first: ${typed('migrate', 'up')}`,
      42501: '. DATABASE_URL has to name a role that may, such as order_lookup_owner.',
    };
    const remedy = error instanceof AdministrationError ? undefined : remedies[String(code)];
    process.stderr.write(`${origin}${messageOf(error)}${remedy ?? ''}\n`);
    process.exitCode = 1;
  }
}

function parsed({ options, operands: [least, most] }: Command, args: string[], usage: string) {
  try {
    const found = parseArgs({ args, options, allowPositionals: true });
    const { length } = found.positionals;
    if (length >= least && length <= most) return found;
    throw new Error('There are too few words, or too many');
  } catch (error) {
    const [fault] = messageOf(error).split(/\.(?: |$)/);
    return refuse([`${fault}. Usage: ${usage}`, ...ABOUT_NPM].join('. '));
  }
}
