import type { DatabaseError } from 'pg';
import { explainError } from '../../database/explain-error.js';
import { messageOf } from '../../telemetry/error-message.js';
import { CliError, commandLine } from '../cli/program.js';
import { isRefusal } from '../cli/session-end.js';
import type { FileUnderWay } from './run-progress.js';

/** Of the message, the detail and the hint. A detail may hold the whole row that was refused. */
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

/** PostgreSQL refused a file, or the file is not one that can run. */
export class MigrationFault extends CliError {
  constructor(
    message: string,
    /** SQLSTATE, where PostgreSQL refused it. */
    readonly code?: string,
  ) {
    super(message);
  }
}

/** The connection ended while a file ran, which is no fault of the file. */
export class InterruptedFile extends CliError {
  readonly reason: string;

  constructor(name: string, error: unknown) {
    const [message] = messageOf(explainError(error)).split('\n'); // node-pg-migrate adds a stack to some errors
    const reason = `${name}.sql: ${message}`;
    super(`${reason}. Look at what is applied: ${commandLine('migrate', 'status')}`);
    this.reason = reason;
  }
}

/** What stopped a file, with the line of the file where PostgreSQL names one. */
export function faultOf(error: unknown, file: FileUnderWay): CliError {
  if (error instanceof CliError) return error;
  if (isRefusal(error)) return refusedFile(error, file);
  return new InterruptedFile(file.name, error);
}

function refusedFile(error: DatabaseError, { name, script }: FileUnderWay): MigrationFault {
  const subject = `${name}.sql${placeOf(error, script)}`;
  const parts = [`${subject}: ${error.message}`, error.detail, hintOf(error)];
  const shown = parts.filter((part) => part !== undefined);
  const text = shown.map((part) => part.slice(0, MAX_PART_CHARACTERS)).join('\n  ');
  return new MigrationFault(text, error.code);
}

/** PostgreSQL's own hint is about this error, whatever else it may mean. */
function hintOf(error: DatabaseError): string | undefined {
  return error.hint ?? (isAboutTransactions(error) ? ONE_TRANSACTION : undefined);
}

function isAboutTransactions({ routine, code }: DatabaseError): boolean {
  if (code === TERMINATION) return true;
  return code === NOT_SUPPORTED && routine === REFUSING_ROUTINE;
}

/** Empty where the error is in the body of a function: its position counts from there, and is no line of the file. */
function placeOf({ internalQuery, internalPosition }: DatabaseError, script: string): string {
  if (internalQuery !== script) return '';
  return `, line ${lineAt(Number(internalPosition), script)}`;
}

/**
 * PostgreSQL counts characters from 1, and in JavaScript some have two units. A script may have 50 MB, so its
 * characters are counted and not copied.
 */
function lineAt(position: number, script: string): number {
  let line = 1;
  let characterCount = 0;
  for (const character of script) {
    characterCount += 1;
    if (characterCount >= position) break;
    if (character === '\n') line += 1;
  }
  return line;
}
