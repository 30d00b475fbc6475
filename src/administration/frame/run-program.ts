import { parseArgs } from 'node:util';
import { DatabaseError } from 'pg';
import { describe } from '../../telemetry/repeated-failure.js';
import { type Command, type Outcome, type Program, AdministrationError, typed } from './command.js';

/** Exit statuses: 0 done, 1 failed, 2 done, but something was found that the caller should stop for. */
const [DONE, FAILED, FOUND] = [0, 1, 2];

/** Runs the command that the arguments of the process name, and sets the exit status. A failure is reported in one sentence on standard error. */
export async function runProgram(program: Program): Promise<void> {
  // The reader of the output may close it early, as `head` does
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) =>
    process.exit(code === 'EPIPE' ? DONE : FAILED),
  );
  try {
    const { text, found, failed } = await outcomeOf(program, process.argv.slice(2));
    process.stdout.write(text);
    process.exitCode = failed ? FAILED : found ? FOUND : DONE;
  } catch (error) {
    process.stderr.write(`${sentenceOf(error)}\n`);
    process.exitCode = FAILED;
  }
}

async function outcomeOf(program: Program, words: readonly string[]): Promise<Outcome> {
  if (words.includes('--help')) return { text: `${usageOf(program)}\n` };
  const [name, rest] = '' in program.commands ? ['', words] : [words[0] ?? '', words.slice(1)];
  const command = Object.hasOwn(program.commands, name) ? program.commands[name] : undefined;
  if (!command)
    throw new AdministrationError(
      `${name === '' ? 'A command is missing' : `"${name}" is not a command of ${program.name}`}: ${Object.keys(program.commands).join(', ')}. ${typed(program.name, '--help')} explains them.`,
    );
  assertNothingSwallowed(program.name, command, words);
  const { values, positionals } = parsed(program.name, name, command, rest);
  const outcome = await command.run(values, positionals);
  const text = values['json'] ? JSON.stringify(outcome.json) : outcome.text;
  return { ...outcome, text: outcome.exact ? text : `${text}\n` };
}

/** Without `--`, npm takes options for its own: it passes the other words, and sets a variable for each option. */
function assertNothingSwallowed(
  program: string,
  { options }: Command,
  words: readonly string[],
): void {
  if (process.env['npm_lifecycle_event'] !== program) return;
  const lost = Object.keys(options).filter(
    (name) =>
      process.env[`npm_config_${name.replaceAll('-', '_')}`] !== undefined &&
      !words.some((word) => word === `--${name}` || word.startsWith(`--${name}=`)),
  );
  if (lost.length > 0)
    throw new AdministrationError(
      `npm took ${lost.map((name) => `--${name}`).join(', ')} for an option of its own, or it is set in npm's configuration. Write "--" before the command: ${typed(program, ...words, ...lost.map((name) => `--${name}${options[name]?.type === 'string' ? ' …' : ''}`))}`,
    );
}

function parsed(
  program: string,
  name: string,
  { options, operands: [least, most], usage }: Command,
  words: readonly string[],
): { values: Record<string, unknown>; positionals: string[] } {
  try {
    const { values, positionals } = parseArgs({
      args: [...words],
      options,
      allowPositionals: true,
    });
    if (positionals.length < least) throw new Error('An operand is missing');
    if (positionals.length > most) throw new Error(`"${positionals[most]}" is one word too many`);
    return { values, positionals };
  } catch (error) {
    throw new AdministrationError(
      `${describe(error).replace(/\.( .*)?$/s, '')}. Usage: ${typed(program, ...[name, usage].filter(Boolean))}`,
    );
  }
}

const usageOf = ({ name, commands, notes }: Program): string =>
  [
    'Usage:',
    ...Object.entries(commands).flatMap(([word, { usage, summary }]) => [
      `  ${typed(name, ...[word, usage].filter(Boolean))}`,
      `      ${summary}`,
    ]),
    notes,
  ].join('\n');

function sentenceOf(error: unknown): string {
  if (error instanceof AdministrationError) return error.message;
  // What helps against an error of PostgreSQL, by its SQLSTATE
  const remedies: Readonly<Record<string, string>> = {
    '42P01': `. Apply the migrations first: ${typed('migrate', 'up')}`,
    '42501': '. Connect with the role that owns the tables: order_lookup_owner in production',
  };
  if (error instanceof DatabaseError)
    return `PostgreSQL refused this: ${error.message}${remedies[error.code ?? ''] ?? ''}`;
  // A fault in the program: the stack helps to find it
  return process.env['LOG_LEVEL'] === 'debug' && error instanceof Error
    ? (error.stack ?? error.message)
    : describe(error);
}
