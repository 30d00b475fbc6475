import type { DatabaseError } from 'pg';
import { describe } from '../../telemetry/repeated-failure.js';
import { AdministrationError } from '../frame/command.js';
import type { Statement } from './sql-statements.js';

/** How many lines of a statement are shown. */
const SHOWN = 10;

/** The error of a migration: file, line, PostgreSQL's message, and the statement, unless the commit failed. */
export function failureOf(
  file: string,
  statement: Statement | undefined,
  error: unknown,
): AdministrationError {
  const { detail, hint, position } = error as DatabaseError;
  const place = statement
    ? `line ${lineOf(statement, Number(position ?? 1))}`
    : 'at the end of its transaction';
  const lines = statement?.text.split('\n') ?? [];
  return new AdministrationError(
    [
      `${file}, ${place}: ${describe(error)}`,
      ...(detail ? [`  ${detail}`] : []),
      ...(hint ? [`  ${hint}`] : []),
      ...(lines.length > 0 ? ['', ...lines.slice(0, SHOWN).map((line) => `  ${line}`)] : []),
      ...(lines.length > SHOWN ? ['  …'] : []),
      ...(lines.length > 0 ? [''] : []),
    ].join('\n'),
    { cause: error },
  );
}

/** PostgreSQL counts characters from 1, JavaScript UTF-16 units from 0. Only errors in the text of a statement have a position. */
const lineOf = ({ text, line }: Statement, position: number): number =>
  line +
  Array.from(text)
    .slice(0, position - 1)
    .filter((character) => character === '\n').length;
