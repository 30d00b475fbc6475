// The errors that stop a migration, as people read them. run-migrations.ts runs each migration by PostgreSQL's EXECUTE.
import type { DatabaseError } from 'pg';
import { describe, findRefusal, findServerRemedy } from '../../database/database-errors.js';
import { OperatorError } from '../../telemetry/error-message.js';
import { showInvisible } from '../cli/invisible-characters.js';
import { formatCommandLine } from '../cli/program.js';

/** The longest message, detail or hint that is shown. A detail may contain the whole refused row. */
const MAX_PART_CHARACTERS = 500;
const INVALID_TRANSACTION_TERMINATION = '2D000';
const FEATURE_NOT_SUPPORTED = '0A000';
/** The function of PostgreSQL that refuses transaction commands in EXECUTE, and COPY from the client. */
const REFUSING_ROUTINE = 'exec_stmt_dynexecute';
const ONE_TRANSACTION =
  'A migration is one transaction. Remove the commands that begin or end a transaction (begin, commit, rollback, ' +
  'savepoint), and write insert instead of copy from stdin.';

/** The SQL of a migration in one direction. */
export interface Script {
  /** The name in messages: the file of the migration, or another source of the SQL. */
  readonly title: string;
  readonly sql: string;
}

/**
 * Returns the text for EXECUTE. EXECUTE refuses `select … into` as the last statement, so this adds another statement.
 * The line break comes first, because the last line of the SQL may be a comment.
 */
export function toExecutable({ sql }: Script): string {
  return `${sql}\n;select`;
}

/** PostgreSQL refused a migration, or its file cannot be run. */
export class MigrationFault extends OperatorError {
  constructor(
    message: string,
    /** The SQLSTATE, if PostgreSQL refused the migration. */
    readonly code?: string,
  ) {
    super(message);
  }
}

/** The connection was lost while a migration ran. If COMMIT was sent, nobody knows whether the migration is applied. */
export class InterruptedMigration extends OperatorError {
  readonly reason: string;

  constructor(title: string, error: unknown) {
    const [message] = describe(error).split('\n'); // node-pg-migrate adds a stack to some errors
    const reason = `${title}: ${message}`;
    super(`${reason}. The connection was lost. To see what is applied: ${formatCommandLine('migrate', 'status')}`);
    this.reason = reason;
  }
}

/** Returns the error as people read it, with the line of the file if PostgreSQL names one. */
export function explainFault(error: unknown, script: Script): OperatorError {
  if (error instanceof OperatorError) return error;
  const refusal = findRefusal(error);
  if (!refusal) return new InterruptedMigration(script.title, error);
  const { message, detail } = refusal;
  const parts = [`${script.title}${describePlace(refusal, script)}: ${message}`, detail, findHint(refusal)];
  const shown = parts.filter((part) => part !== undefined);
  const lines = shown.map((part) => showInvisible(part.slice(0, MAX_PART_CHARACTERS)));
  return new MigrationFault(lines.join('\n  '), refusal.code);
}

/** Returns PostgreSQL's hint, which is about this error, else our hint, which is about all errors with its code. */
function findHint(error: DatabaseError): string | undefined {
  return error.hint ?? (isAboutTransactions(error) ? ONE_TRANSACTION : findServerRemedy(error));
}

function isAboutTransactions({ routine, code }: DatabaseError): boolean {
  if (code === INVALID_TRANSACTION_TERMINATION) return true;
  return code === FEATURE_NOT_SUPPORTED && routine === REFUSING_ROUTINE;
}

/** Names the line, except inside a function: there, PostgreSQL counts from the beginning of the function. */
function describePlace({ internalQuery, internalPosition }: DatabaseError, script: Script): string {
  if (internalPosition === undefined || internalQuery !== toExecutable(script)) return '';
  return `, line ${findLine(Number(internalPosition), script.sql)}`;
}

/**
 * Returns the line of a position. PostgreSQL counts an emoji as one character, but JavaScript's indexes count two.
 * The loop makes no copy of the script, which may have 50 MB.
 */
function findLine(position: number, sql: string): number {
  let line = 1;
  let characterCount = 0;
  for (const character of sql) {
    characterCount += 1;
    if (characterCount >= position) break; // the first position is 1
    if (character === '\n') line += 1;
  }
  return line;
}
