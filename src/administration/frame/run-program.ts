import { parseArgs } from 'node:util';
import { DatabaseError } from 'pg';
import { describe } from '../../telemetry/repeated-failure.js';
import { AdministrationError, type Command, typed } from './command.js';

/**
 * Runs the command that the arguments of the process name. A failure is one sentence on standard error, and status 1.
 * @param commands by the word that follows the name; a program without such words has one command, named ''
 */
export async function runProgram(name: string, commands: Record<string, Command>, notes: string) {
  // The reader of the output may close it early, as `head` does
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) =>
    process.exit(code === 'EPIPE' ? 0 : 1),
  );
  const words = process.argv.slice(2);
  const usageOf = (word: string): string => typed(name, word, commands[word]?.usage ?? '');
  if (words.includes('--help')) {
    process.stdout.write('Usage:\n');
    for (const [word, { summary }] of Object.entries(commands))
      process.stdout.write(`  ${usageOf(word)}\n      ${summary}\n`);
    process.stdout.write(`${notes}\n`);
    return;
  }
  try {
    const word = '' in commands ? '' : (words.shift() ?? '');
    const command = Object.hasOwn(commands, word) ? commands[word] : undefined;
    if (!command)
      throw new AdministrationError(
        `"${word}" is not a command of ${name}: ${Object.keys(commands).join(', ')}. To explain them: ${typed(name, '--help')}`,
      );
    const { values, positionals } = parsed(name, command, words, usageOf(word));
    const { text, json, exact, found, failed } = await command.run(values, positionals);
    process.stdout.write(values['json'] ? `${JSON.stringify(json)}\n` : exact ? text : `${text}\n`);
    process.exitCode = failed ? 1 : found ? 2 : 0;
  } catch (error) {
    process.stderr.write(`${sentenceOf(error)}\n`);
    process.exitCode = 1;
  }
}

function parsed(name: string, { options, operands }: Command, args: string[], usage: string) {
  try {
    // Without `--`, npm takes options for its own: it passes the other words, and sets a variable for each option
    const lost = Object.keys(options).filter(
      (option) =>
        process.env['npm_lifecycle_event'] === name &&
        process.env[`npm_config_${option.replaceAll('-', '_')}`] !== undefined &&
        !args.some((word) => word.split('=')[0] === `--${option}`),
    );
    if (lost.length > 0)
      throw new Error(`npm took --${lost.join(', --')}: write "--" before the command`);
    const found = parseArgs({ args, options, allowPositionals: true });
    const { length } = found.positionals;
    if (length < operands[0] || length > operands[1])
      throw new Error('There are too few words, or too many');
    return found;
  } catch (error) {
    throw new AdministrationError(`${describe(error).split(/\.(?: |$)/)[0]}. Usage: ${usage}`);
  }
}

function sentenceOf(error: unknown): string {
  if (!(error instanceof DatabaseError)) return describe(error);
  const isTableMissing = error.code === '42P01';
  const remedy = isTableMissing ? `. Apply the migrations first: ${typed('migrate', 'up')}` : '';
  return `PostgreSQL refused this: ${error.message}${remedy}`;
}
