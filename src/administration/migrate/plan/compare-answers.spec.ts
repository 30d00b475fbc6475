import { describe, expect, it } from '@jest/globals';
import { compareAnswers } from './compare-answers.js';
import type { Answers } from './answers.js';

const list = (values: string[]): Answers => ({
  areas: { 'order-update': [{ property: 'orderType', values }] },
  records: [],
});
const record = (code: string, description: string): Answers => ({
  areas: {},
  records: [{ codeType: 'T', code, description }],
});
const told = (before: Answers, after: Answers): string[] =>
  compareAnswers(before, after).map(
    ({ kind, name, to }) => `${kind} ${name}${to === undefined ? '' : ` to ${to}`}`,
  );

describe('compareAnswers', () => {
  it.each([
    ['nothing', 'ABC', 'ABC', []],
    ['a value at the end', 'ABC', 'ABCD', ['added D']],
    ['a value in the middle, which moves none', 'ABC', 'AXBC', ['added X']],
    ['a removal', 'ABC', 'BC', ['removed A']],
    ['a new name at the same place', 'ABC', 'AXC', ['renamed B to X']],
    ['a new name behind a removal', 'ABCD', 'BXD', ['removed A', 'renamed C to X']],
    ['one that moved past all others', 'ABCDE', 'BCDEA', ['moved A']],
    ['two for one', 'ABC', 'AXYC', ['removed B', 'added X', 'added Y']],
    ['the first value', '', 'A', ['added A']],
    ['the last value', 'A', '', ['removed A']],
  ])('sees %s', (_name, before, after, changes) => {
    expect(told(list(before.split('')), list(after.split('')))).toEqual(changes);
  });

  it('sees properties that come, with their area', () => {
    const areas = { 'order-update': [{ property: 'orderType', values: ['A'] }] };
    expect(compareAnswers({ areas: {}, records: [] }, { areas, records: [] })).toEqual([
      { kind: 'added', what: 'property', area: 'order-update', name: 'orderType' },
    ]);
  });

  it('sees records that come, go and change', () => {
    expect(told(record('1', 'old'), record('1', 'new'))).toEqual(['changed T 1']);
    expect(told(record('1', 'same'), record('2', 'same'))).toEqual(['added T 2', 'removed T 1']);
  });
});
