import { parseArgs } from 'node:util';
import { messageOf } from '../../telemetry/error-message.js';
import { type Command, type Outcome, refuse, typed } from './command.js';
import { sentenceOf } from './error-sentence.js';

export interface Program {
  /** As in `npm run NAME` and `dist/NAME.js`. */
  readonly name: string;
  /** By the word that is typed. The only command of a program has the word ''. */
  readonly commands: Readonly<Record<string, Command>>;
  /** Said below the list of commands. */
  readonly notes: string;
}

const NO_OPERANDS = { least: 0, most: 0 };
const NPM_RULE = 'Without "--" npm takes options for its own and does not pass them on.';

/**
 * Runs the command that the first word names, and sets the exit status. A failure is a sentence on standard error, and
 * status 1. Only what was typed counts: settings that npm has from a file are no options of a command.
 */
export async function runProgram(program: Program): Promise<void> {
  endWithReader();
  const words = process.argv.slice(2);
  if (words.includes('--help')) {
    process.stdout.write(helpOf(program));
    return;
  }
  try {
    await runCommand(program, words);
  } catch (error) {
    process.stderr.write(`${sentenceOf(error)}\n`);
    process.exitCode = 1;
  }
}

/** The reader of the output may close it early, as `head` does. */
function endWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    process.exit(error.code === 'EPIPE' ? 0 : 1);
  });
}

function helpOf({ name, commands, notes }: Program): string {
  const lines = ['Usage:'];
  for (const [word, { usage = '', summary }] of Object.entries(commands)) {
    lines.push(`  ${typed(name, `${word} ${usage}`.trim())}`, `      ${summary}`);
  }
  lines.push(notes, ...npmRule());
  return `${lines.join('\n')}\n`;
}

async function runCommand(program: Program, words: readonly string[]): Promise<void> {
  const isOnlyCommand = Object.hasOwn(program.commands, '');
  const word = isOnlyCommand ? '' : (words[0] ?? '');
  const chosen = Object.hasOwn(program.commands, word) ? program.commands[word] : undefined;
  if (!chosen) {
    const known = Object.keys(program.commands).join(', ');
    refuse(`"${word}" is not a command of ${program.name}: ${known}, --help.`);
  }
  const usage = typed(program.name, `${word} ${chosen.usage ?? ''}`.trim());
  const { values, positionals } = parseWords(chosen, isOnlyCommand ? words : words.slice(1), usage);
  const outcome = await chosen.run(values, positionals);
  const isForPrograms = values['json'] === true;
  process.stdout.write(isForPrograms ? `${JSON.stringify(outcome.json)}\n` : textOf(outcome));
  process.exitCode = outcome.status ?? 0;
}

function textOf({ text, exact = false }: Outcome): string {
  return exact ? text : `${text}\n`;
}

function parseWords({ options = {}, operands = NO_OPERANDS }: Command, words: readonly string[], usage: string) {
  try {
    const found = parseArgs({ args: [...words], options, allowPositionals: true });
    const count = found.positionals.length;
    if (count >= operands.least && count <= operands.most) return found;
  } catch (error) {
    // Node.js adds how to escape a positional argument, which would confuse here
    const [fault] = messageOf(error).split(/\.(?: |$)/);
    refuse([`${fault}. Usage: ${usage}`, ...npmRule()].join('. '));
  }
  return refuse([`There are too few words, or too many. Usage: ${usage}`, ...npmRule()].join('. '));
}

function npmRule(): string[] {
  return process.env['npm_lifecycle_event'] === undefined ? [] : [NPM_RULE];
}
