import { describe, expect, it } from '@jest/globals';
import { assert, constantFrom, property, uniqueArray } from 'fast-check';
import { compareLists } from './compare-lists.js';

const told = (before: readonly string[], after: readonly string[]): string[] =>
  compareLists(before, after).map(({ kind, name, to }) =>
    to === undefined ? `${kind} ${name}` : `${kind} ${name} to ${to}`,
  );

describe('compareLists', () => {
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
    expect(told(before.split(''), after.split(''))).toEqual(changes);
  });

  it('reports each name that was added, removed or moved once, and nothing else', () => {
    const list = uniqueArray(constantFrom('A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I', 'J'));
    assert(
      property(list, list, (before, after) => {
        const changes = compareLists(before, after);
        const names = (kinds: string[]): string[] =>
          changes.flatMap(({ kind, name, to }) =>
            kinds.includes(kind) ? [kinds[0] === 'added' && to !== undefined ? to : name] : [],
          );
        expect(names(['added', 'renamed']).toSorted()).toEqual(
          after.filter((name) => !before.includes(name)).toSorted(),
        );
        expect(names(['removed', 'renamed']).toSorted()).toEqual(
          before.filter((name) => !after.includes(name)).toSorted(),
        );
        const moved = names(['moved']);
        const still = (all: string[], other: string[]): string[] =>
          all.filter((name) => other.includes(name) && !moved.includes(name));
        expect(still(before, after)).toEqual(still(after, before));
      }),
    );
  });
});
