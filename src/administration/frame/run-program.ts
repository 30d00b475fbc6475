import { parseArgs } from 'node:util';
import { DatabaseError } from 'pg';
import { describe } from '../../telemetry/repeated-failure.js';
import { type Command, type Outcome, type Program, AdministrationError, typed } from './command.js';

/** What helps against an error of PostgreSQL, by its SQLSTATE. */
const REMEDIES: Readonly<Record<string, string>> = {
  '42P01': `. Apply the migrations first: ${typed('migrate', 'up')}`,
  '42501': '. Connect with the role that owns the tables: order_lookup_owner in production',
};

/**
 * Runs the command that the arguments of the process name. A failure is one sentence on standard error. Exit statuses: 0 done, 1 failed, 2 done,
 * but something was found that the caller should stop for.
 */
export async function runProgram(program: Program): Promise<void> {
  // The reader of the output may close it early, as `head` does
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) =>
    process.exit(code === 'EPIPE' ? 0 : 1),
  );
  try {
    const { text, found, failed } = await outcomeOf(program, process.argv.slice(2));
    process.stdout.write(text);
    process.exitCode = failed ? 1 : found ? 2 : 0;
  } catch (error) {
    process.stderr.write(`${sentenceOf(error)}\n`);
    process.exitCode = 1;
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
  const { values, positionals } = parsed(
    command,
    rest,
    typed(program.name, ...usageWords(name, command)),
  );
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
  const lost = Object.keys(options)
    .filter((name) => process.env[`npm_config_${name.replaceAll('-', '_')}`] !== undefined)
    .filter((name) => !words.some((word) => word.split('=')[0] === `--${name}`))
    .map((name) => `--${name}${options[name]?.type === 'string' ? ' …' : ''}`);
  if (lost.length > 0)
    throw new AdministrationError(
      `npm took ${lost.join(', ')} for its own option, or its configuration has it. Write "--" before the command: ${typed(program, ...words, ...lost)}`,
    );
}

function parsed(
  { options, operands: [least, most] }: Command,
  words: readonly string[],
  usage: string,
) {
  try {
    const found = parseArgs({ args: [...words], options, allowPositionals: true });
    const { length } = found.positionals;
    if (length < least) throw new Error('An operand is missing');
    if (length > most) throw new Error(`"${found.positionals[most]}" is one word too many`);
    return found;
  } catch (error) {
    const [sentence] = describe(error).split(/\.(?: |$)/);
    throw new AdministrationError(`${sentence}. Usage: ${usage}`);
  }
}

const usageWords = (name: string, { usage }: Command): string[] => [name, usage].filter(Boolean);

const usageOf = ({ name, commands, notes }: Program): string =>
  [
    'Usage:',
    ...Object.entries(commands).map(
      ([word, command]) =>
        `  ${typed(name, ...usageWords(word, command))}\n      ${command.summary}`,
    ),
    notes,
  ].join('\n');

function sentenceOf(error: unknown): string {
  if (error instanceof AdministrationError) return error.message;
  return error instanceof DatabaseError
    ? `PostgreSQL refused this: ${error.message}${REMEDIES[error.code ?? ''] ?? ''}`
    : describe(error);
}
