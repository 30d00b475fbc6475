import { describe, expect, it } from '@jest/globals';
import type { CodeRows } from '../../lookups/code-rows.js';
import { findChanges } from './code-changes.js';

const NOW_MS = Date.parse('2027-01-01T00:00:00Z');
const SOON = '2027-01-05T00:00:00.000Z';
const property = { area: 'order-update', property: 'orderType', position: 1, codeList: 'types' };

/** Returns a list of the values in the given order. A value with `beginsAt` is valid from that time. */
function rowsWith(...values: { value: string; beginsAt?: string }[]): CodeRows {
  return {
    properties: [property],
    values: values.map(({ value, beginsAt }, index) => ({
      codeList: 'types',
      value,
      position: index + 1,
      validFromMs: beginsAt === undefined ? -Infinity : Date.parse(beginsAt),
      validUntilMs: Infinity,
    })),
    records: [],
  };
}

const shown = (before: CodeRows, after: CodeRows) =>
  findChanges(before, after, NOW_MS).map(({ kind, name, order, at, withdrawn = false }) => ({
    what: name ?? order?.join(' '),
    kind,
    at,
    withdrawn,
  }));

describe('a planned change of the order of values', () => {
  const planned = rowsWith({ value: 'A' }, { value: 'X', beginsAt: SOON }, { value: 'B' });

  it('is not reported again if another value is appended', () => {
    const after = rowsWith({ value: 'A' }, { value: 'X', beginsAt: SOON }, { value: 'B' }, { value: 'C' });
    expect(shown(planned, after)).toEqual([{ what: 'C', kind: 'added', at: undefined, withdrawn: false }]);
  });

  it('is not reported as withdrawn if another value is removed', () => {
    const before = rowsWith({ value: 'A' }, { value: 'X', beginsAt: SOON }, { value: 'B' }, { value: 'C' });
    expect(shown(before, planned)).toEqual([{ what: 'C', kind: 'removed', at: undefined, withdrawn: false }]);
  });

  it('is reported as withdrawn if another order is planned instead, and that order is reported as planned', () => {
    const after = rowsWith({ value: 'X', beginsAt: SOON }, { value: 'A' }, { value: 'B' });
    expect(shown(planned, after)).toEqual([
      { what: 'X A B', kind: 'order changed', at: SOON, withdrawn: false },
      { what: 'A X B', kind: 'order changed', at: SOON, withdrawn: true },
    ]);
  });

  it('is reported as withdrawn together with the value that would have begun', () => {
    const after = rowsWith({ value: 'A' }, { value: 'B' });
    expect(shown(planned, after)).toEqual([
      { what: 'X', kind: 'added', at: SOON, withdrawn: true },
      { what: 'A X B', kind: 'order changed', at: SOON, withdrawn: true },
    ]);
  });
});
