import { describe, expect, it } from '@jest/globals';
import { DatabaseError } from 'pg';
import { explainFault, toExecutable } from './migration-fault.js';

const TRANSACTION = /\n {2}A migration is one transaction\./;

function toMessage(fields: Partial<DatabaseError>): string {
  const error = Object.assign(new DatabaseError('refused', 1, 'error'), fields);
  return explainFault(error, { title: '0100_x.sql', sql: '\n\nselect 1;\nselect nope;\n' }).message;
}

describe('the hint about transactions', () => {
  const routine = 'exec_stmt_dynexecute'; // this routine of EXECUTE refuses commit and copy with 0A000

  it.each([
    { what: '2D000 (invalid_transaction_termination)', fields: { code: '2D000' } },
    { what: '0A000 (feature_not_supported) from the routine of EXECUTE', fields: { code: '0A000', routine } },
  ])('is given for $what', ({ fields }) => {
    expect(toMessage(fields)).toMatch(TRANSACTION);
  });

  it.each([
    { what: '22004 (the text is null) from the routine of EXECUTE', fields: { code: '22004', routine } },
    { what: '0A000 from another routine', fields: { code: '0A000', routine: 'other' } },
    {
      what: 'an error that has a hint of PostgreSQL',
      fields: { code: '0A000', routine, hint: 'Use CREATE TABLE … AS instead.' },
    },
  ])('is not given for $what', ({ fields }) => {
    expect(toMessage(fields)).not.toMatch(TRANSACTION);
  });

  it('is replaced by the hint of PostgreSQL if the error has one', () => {
    const hint = 'Use CREATE TABLE … AS instead.';
    expect(toMessage({ code: '0A000', routine, hint })).toBe(`0100_x.sql: refused\n  ${hint}`);
  });
});

it('names the right line after characters that have two UTF-16 units', () => {
  const script = { title: '0100_x.sql', sql: `\n\nselect '${'😀'.repeat(20)}';\nselect nope;` };
  const position = String(Array.from(script.sql).indexOf('n') + 1); // the first n is that of nope
  const error = Object.assign(new DatabaseError('refused', 1, 'error'), {
    code: '42703',
    internalQuery: toExecutable(script),
    internalPosition: position,
  });
  expect(explainFault(error, script).message).toBe('0100_x.sql, line 4: refused');
});

it('shows only 500 characters of a detail, because PostgreSQL may quote a whole row in it', () => {
  const error = Object.assign(new DatabaseError('refused', 1, 'error'), { code: '23514', detail: 'x'.repeat(10_000) });
  expect(explainFault(error, { title: '0100_x.sql', sql: 'select 1;' }).message).toMatch(
    /^0100_x\.sql: refused\n {2}x{500}$/,
  );
});
