import { describe, expect, it } from '@jest/globals';
import { changesBetween } from './changes.js';
import type { Contents, Record, Value } from './contents.js';
import { canBreakClients, describePlan, planInMarkdown } from './describe-plan.js';
import type { Plan } from './plan-migrations.js';

const NOW = Date.parse('2026-11-21T09:00:00Z');
const inDays = (days: number): number => NOW + days * 86_400_000;
const value = (name: string, from = -Infinity, until = Infinity): Value => ({
  value: name,
  from,
  until,
});
const record = (
  codeType: string,
  code: string,
  description: string,
  from = -Infinity,
  until = Infinity,
): Record => ({ codeType, code, description, from, until });
const contents = (values: Value[] | undefined, records: Record[] = []): Contents => ({
  now: NOW,
  properties: new Map(values ? [['order-update', new Map([['orderType', 'orderType']])]] : []),
  values: new Map([['orderType', values ?? []]]),
  records,
});
const planOf = (before: Contents, after: Contents): Plan => ({
  migrations: ['0100_x'],
  changes: changesBetween(before, after),
  lost: [],
  now: NOW,
  noticeDays: 30,
});
/** The lines that tell of changes, and whether they can break clients. */
const told = (before: Contents, after: Contents): string[] => {
  const plan = planOf(before, after);
  const lines = describePlan(plan).split('\n').slice(2, -3).filter(Boolean);
  expect(canBreakClients(plan)).toBe(lines.some((line) => line.startsWith('  !')));
  return lines;
};

describe('changesBetween', () => {
  it('sees properties that come and go', () => {
    expect(told(contents(undefined), contents([value('A')]))).toEqual([
      'order-update',
      '    + property orderType added',
    ]);
    expect(told(contents([value('A')]), contents(undefined))).toEqual([
      'order-update',
      '  ! - property orderType removed (orders and clients may still hold it)',
    ]);
  });

  it('shows records with their descriptions, and tells them apart', () => {
    const before = contents([], [record('A B', 'C', 'one'), record('T', '1', 'old')]);
    const after = contents([], [record('A', 'B C', 'one'), record('T', '1', 'new "2"')]);
    expect(told(before, after)).toEqual([
      'order-scheduling',
      '    + record codeType "A", code "B C": "one" added',
      String.raw`    ~ record codeType "T", code "1": "old" → "new \"2\"" changed`,
      '  ! - record codeType "A B", code "C": "one" removed (orders and clients may still hold it)',
    ]);
  });

  it('shows what changes at which moment, and warns of what ends without notice', () => {
    const before = contents([value('A'), value('B'), value('C')]);
    const after = contents(
      [
        value('A', -Infinity, inDays(40)),
        value('B', -Infinity, inDays(3)),
        value('C'),
        value('D', inDays(40)),
        value('E', inDays(-1), inDays(60)),
      ],
      [record('T', '1', 'x', inDays(40), inDays(41))],
    );
    expect(told(before, after)).toEqual([
      'order-update',
      '    + value orderType: E added',
      'at 2026-11-24T09:00:00.000Z, order-update',
      '  ! - value orderType: B removed (in 3 days: the notice is 30)',
      'at 2026-12-31T09:00:00.000Z, order-update',
      '    - value orderType: A removed',
      '    + value orderType: D added',
      'at 2026-12-31T09:00:00.000Z, order-scheduling',
      '    + record codeType "T", code "1": "x" added',
      'at 2027-01-01T09:00:00.000Z, order-scheduling',
      '    - record codeType "T", code "1": "x" removed',
      'at 2027-01-20T09:00:00.000Z, order-update',
      '    - value orderType: E removed',
    ]);
  });

  it('reports moments that are moved or withdrawn, and none that stay', () => {
    const at = (from: number, until: number): Contents =>
      contents([value('A'), value('B', from), value('C', -Infinity, until)]);
    expect(told(at(inDays(50), inDays(90)), at(inDays(40), inDays(90)))).toEqual([
      'at 2026-12-31T09:00:00.000Z, order-update',
      '    + value orderType: B added',
      'at 2027-01-10T09:00:00.000Z, order-update',
      '    + value orderType: B no longer added',
    ]);
    expect(told(at(inDays(50), inDays(90)), at(inDays(50), Infinity))).toEqual([
      'at 2027-02-19T09:00:00.000Z, order-update',
      '    - value orderType: C no longer removed',
    ]);
  });

  it('compares 100,000 records with 1,000 moments', () => {
    const records = Array.from({ length: 100_000 }, (_, at) =>
      record('T', String(at), 'x', at % 100 === 0 ? inDays(1 + at / 1000) : -Infinity),
    );
    expect(changesBetween(contents([]), contents([], records))).toHaveLength(100_000);
  });
});

describe('planInMarkdown', () => {
  it('is a diff whose fence no description ends', () => {
    const before = contents([value('A'), value('B')]);
    const after = contents([value('A')], [record('T', '1', 'a ``` fence', inDays(1))]);
    expect(planInMarkdown(planOf(before, after))).toBe(
      [
        '### Plan: ⚠️ this can break clients',
        '',
        '- `0100_x`',
        '',
        '````diff',
        'order-update',
        '! - value orderType: B removed (orders and clients may still hold it)',
        '',
        'at 2026-11-22T09:00:00.000Z, order-scheduling',
        '+ record codeType "T", code "1": "a ``` fence" added',
        '````',
      ].join('\n'),
    );
  });
});
