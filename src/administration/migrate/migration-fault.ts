// What stopped a migration, as people read it.
import type { DatabaseError } from 'pg';
import { explainError } from '../../database/explain-error.js';
import { toMessage } from '../../telemetry/error-message.js';
import { showInvisible } from '../cli/invisible-characters.js';
import { CliError, commandLine } from '../cli/program.js';
import { isRefusal } from '../cli/session-end.js';

/** The most characters that are shown of each of message, detail and hint. A detail may hold the whole refused row. */
const MAX_PART_CHARACTERS = 500;
/** SQLSTATE invalid_transaction_termination: COMMIT or ROLLBACK in a block of PL/pgSQL, or in a procedure. */
const TERMINATION = '2D000';
/** SQLSTATE feature_not_supported. */
const NOT_SUPPORTED = '0A000';
/** The function of PostgreSQL that refuses transaction commands in EXECUTE, and COPY from the client. */
const REFUSING_ROUTINE = 'exec_stmt_dynexecute';
const ONE_TRANSACTION =
  'A migration is one transaction. Take out what begins or ends one (begin, commit, rollback, savepoint), ' +
  'and write insert instead of copy from stdin.';

/** What PostgreSQL runs of a migration. */
export interface Script {
  /** How messages name it: the file of a migration, or where else its SQL comes from. */
  readonly title: string;
  readonly sql: string;
}

/**
 * EXECUTE refuses `select … into` where it is the last statement; the line break, since the last line may be a comment.
 */
export function toExecutable({ sql }: Script): string {
  return `${sql}\n;select`;
}

/** PostgreSQL refused a migration, or the file is not one that can run. */
export class MigrationFault extends CliError {
  constructor(
    message: string,
    /** SQLSTATE, where PostgreSQL refused it. */
    readonly code?: string,
  ) {
    super(message);
  }
}

/** The connection was lost while a migration ran. At its COMMIT nobody knows whether it counts. */
export class InterruptedMigration extends CliError {
  readonly reason: string;

  constructor(title: string, error: unknown) {
    const [message] = toMessage(explainError(error)).split('\n'); // node-pg-migrate adds a stack to some errors
    const reason = `${title}: ${message}`;
    super(`${reason}. The connection was lost. What is applied: ${commandLine('migrate', 'status')}`);
    this.reason = reason;
  }
}

/** The error as people read it, with the line of the file where PostgreSQL names one. */
export function explainFault(error: unknown, script: Script): CliError {
  if (error instanceof CliError) return error;
  if (!isRefusal(error)) return new InterruptedMigration(script.title, error);
  const parts = [`${script.title}${describePlace(error, script)}: ${error.message}`, error.detail, findHint(error)];
  const shown = parts.filter((part) => part !== undefined);
  const lines = shown.map((part) => showInvisible(part.slice(0, MAX_PART_CHARACTERS)));
  return new MigrationFault(lines.join('\n  '), error.code);
}

/** PostgreSQL's own hint is about this very error, where ours goes by its code. */
function findHint(error: DatabaseError): string | undefined {
  return error.hint ?? (isAboutTransactions(error) ? ONE_TRANSACTION : undefined);
}

function isAboutTransactions({ routine, code }: DatabaseError): boolean {
  if (code === TERMINATION) return true;
  return code === NOT_SUPPORTED && routine === REFUSING_ROUTINE;
}

/** Empty also where the error is in the body of a function: its position counts from there, not in the file. */
function describePlace({ internalQuery, internalPosition }: DatabaseError, script: Script): string {
  if (internalPosition === undefined || internalQuery !== toExecutable(script)) return '';
  return `, line ${countLines(Number(internalPosition), script.sql)}`;
}

/**
 * PostgreSQL counts characters from 1, and in JavaScript some have two units. A script may have 50 MB, so its
 * characters are counted and not copied.
 */
function countLines(position: number, sql: string): number {
  let line = 1;
  let characterCount = 0;
  for (const character of sql) {
    characterCount += 1;
    if (characterCount >= position) break;
    if (character === '\n') line += 1;
  }
  return line;
}
