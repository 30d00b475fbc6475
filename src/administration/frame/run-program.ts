import { parseArgs } from 'node:util';
import { DatabaseError } from 'pg';
import { describe } from '../../telemetry/repeated-failure.js';
import { AdministrationError, type Command, type Outcome, typed } from './command.js';

/** A program such as `migrate`. */
interface Program {
  readonly name: string;
  /** By the word that follows the name. A program without such words has one command, named ''. */
  readonly commands: Readonly<Record<string, Command>>;
  /** What else `--help` says. */
  readonly notes: string;
}

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
    const { text, exact, found, failed } = await outcomeOf(program, process.argv.slice(2));
    process.stdout.write(exact ? text : `${text}\n`);
    process.exitCode = failed ? 1 : found ? 2 : 0;
  } catch (error) {
    process.stderr.write(`${sentenceOf(error)}\n`);
    process.exitCode = 1;
  }
}

async function outcomeOf(
  { name, commands, notes }: Program,
  words: readonly string[],
): Promise<Outcome> {
  const lineOf = (word: string): string => typed(name, word, commands[word]?.usage ?? '');
  if (words.includes('--help')) {
    const lines = Object.entries(commands).map(
      ([word, { summary }]) => `  ${lineOf(word)}\n      ${summary}`,
    );
    return { text: ['Usage:', ...lines, notes].join('\n') };
  }
  const word = '' in commands ? '' : (words[0] ?? '');
  const command = Object.hasOwn(commands, word) ? commands[word] : undefined;
  if (!command)
    throw new AdministrationError(
      `"${word}" is not a command of ${name}: ${Object.keys(commands).join(', ')}. To explain them: ${typed(name, '--help')}`,
    );
  assertNothingSwallowed(name, command, words);
  const { values, positionals } = parsed(command, words.slice(word ? 1 : 0), lineOf(word));
  const outcome = await command.run(values, positionals);
  return values['json'] ? { ...outcome, text: JSON.stringify(outcome.json) } : outcome;
}

/** Without `--`, npm takes options for its own: it passes the other words, and sets a variable for each option. */
function assertNothingSwallowed(name: string, { options }: Command, words: readonly string[]) {
  if (process.env['npm_lifecycle_event'] !== name) return;
  const lost = Object.entries(options)
    .filter(([option]) => process.env[`npm_config_${option.replaceAll('-', '_')}`] !== undefined)
    .filter(([option]) => !words.some((word) => word.split('=')[0] === `--${option}`))
    .map(([option, { type }]) => `--${option}${type === 'string' ? ' …' : ''}`);
  if (lost.length > 0)
    throw new AdministrationError(
      `npm took ${lost.join(', ')} for its own option, or its configuration has it. Write "--" before the command: ${typed(name, ...words, ...lost)}`,
    );
}

function parsed({ options, operands }: Command, args: readonly string[], usage: string) {
  try {
    const found = parseArgs({ args: [...args], options, allowPositionals: true });
    const { length } = found.positionals;
    if (length < operands[0]) throw new Error('An operand is missing');
    if (length > operands[1])
      throw new Error(`"${found.positionals[operands[1]]}" is one word too many`);
    return found;
  } catch (error) {
    const [sentence] = describe(error).split(/\.(?: |$)/);
    throw new AdministrationError(`${sentence}. Usage: ${usage}`);
  }
}

function sentenceOf(error: unknown): string {
  if (error instanceof AdministrationError) return error.message;
  if (!(error instanceof DatabaseError)) return describe(error);
  const remedy = {
    '42P01': `. Apply the migrations first: ${typed('migrate', 'up')}`,
    '42501': '. Connect with the role that owns the tables: order_lookup_owner in production',
  }[error.code ?? ''];
  return `PostgreSQL refused this: ${error.message}${remedy ?? ''}`;
}
