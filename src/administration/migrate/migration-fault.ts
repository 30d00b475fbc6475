import type { DatabaseError } from 'pg';
import { messageOf } from '../../telemetry/error-message.js';
import { AdministrationError } from '../frame/command.js';
import { isRefusal } from '../frame/session-end.js';
import type { FileUnderWay } from './run-progress.js';

/** A row of a table may be long, and stands in the detail. */
const MAX_PART_CHARACTERS = 500;
/** SQLSTATE invalid_transaction_termination: COMMIT or ROLLBACK in a block of PL/pgSQL, or in a procedure. */
const TERMINATION = '2D000';
/** The function of PostgreSQL that refuses transaction commands in EXECUTE, and COPY from the client. */
const REFUSING_ROUTINE = 'exec_stmt_dynexecute';
const ONE_TRANSACTION =
  'A migration is one transaction. Take out what begins or ends one (begin, commit, rollback, savepoint), ' +
  'and write insert instead of copy from stdin.';

/** PostgreSQL refused a file, or the file is not one that can run. */
export class MigrationFault extends AdministrationError {
  constructor(
    message: string,
    /** SQLSTATE, where PostgreSQL refused it. */
    readonly code?: string,
  ) {
    super(message);
  }
}

/** The connection ended while a file ran, which is no fault of the file. Nothing of the file remains. */
export class InterruptedFile extends AdministrationError {}

/** What stopped a file, with the line of the file where PostgreSQL names one. */
export function faultOf(error: unknown, { name, script }: FileUnderWay): AdministrationError {
  if (error instanceof AdministrationError) return error;
  if (!isRefusal(error)) {
    const [message] = messageOf(error).split('\n'); // node-pg-migrate adds a stack to some errors
    return new InterruptedFile(`${name}.sql: ${message}`);
  }
  const hint = isAboutTransactions(error) ? ONE_TRANSACTION : error.hint;
  const parts = [`${name}.sql${placeOf(error, script)}: ${error.message}`, error.detail, hint];
  const shown = parts.filter((part) => part !== undefined);
  const text = shown.map((part) => part.slice(0, MAX_PART_CHARACTERS)).join('\n  ');
  return new MigrationFault(text, error.code);
}

function isAboutTransactions({ routine, code }: DatabaseError): boolean {
  return routine === REFUSING_ROUTINE || code === TERMINATION;
}

/** Only a position in the text of the file is one: others are in the body of a function. */
function placeOf({ internalQuery, internalPosition }: DatabaseError, script: string): string {
  if (internalQuery !== script) return '';
  // PostgreSQL counts characters from 1; in JavaScript some have two units
  const before = Array.from(script).slice(0, Number(internalPosition) - 1);
  const line = before.filter((character) => character === '\n').length + 1;
  return `, line ${line}`;
}
