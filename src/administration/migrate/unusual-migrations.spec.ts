import { describe, expect, it } from '@jest/globals';
import { ALWAYS, type CodeRows } from '../../lookups/code-rows.js';
import { markEarlyNames, markTimesWithoutZone } from './unusual-migrations.js';

describe('a pending migration', () => {
  it('is marked if its name is earlier than an applied one: the proposed name is one second after all others', () => {
    const applied = ['0005_add_views', '20270103000000_ours', '20270101000000_first'];
    expect(markEarlyNames(['20270102000000_theirs', '20270104000000_new'], applied)).toEqual([
      '20270102000000_theirs: if it is applied nowhere yet, rename it to 20270104000001_theirs.sql. Its name is earlier ' +
        'than 20270103000000_ours, which is applied: a new database would apply them in the other order',
    ]);
  });

  it('that is marked with another one keeps its place: the proposed names have the same order', () => {
    const marks = markEarlyNames(['20270101000000_one', '20270102000000_two'], ['20270103000000_ours']);
    expect(marks.map((mark) => /rename it to (\S+)\./.exec(mark)?.[1])).toEqual([
      '20270103000001_one.sql',
      '20270103000002_two.sql',
    ]);
  });

  it('is not marked if its name is later than all applied names, or if no migration is applied', () => {
    expect(markEarlyNames(['20270104000000_new'], ['0005_add_views', '20270103000000_ours'])).toEqual([]);
    expect(markEarlyNames(['0001_first', '20270104000000_new'], [])).toEqual([]);
  });
});

/** Returns the marks of the migration `up`, which makes a code begin at the time `beginning`. */
function markTimes(up: string, beginning: string): string[] {
  const record = { codeType: 'T', code: 'A', description: 'x', ...ALWAYS };
  const toRows = (validFromMs: number): CodeRows => ({
    properties: [],
    values: [],
    records: [{ ...record, validFromMs }],
  });
  const migration = { name: 'm', up, down: '' };
  return markTimesWithoutZone([migration], toRows(-Infinity), toRows(Date.parse(beginning)));
}

describe('a time in a migration', () => {
  it.each([
    ...['2031-01-01', '2031-01-01 00:00', '2031-01-01T00:00:00', '2031-01-01 00:00:00.000', '2031/01/01'],
    ...['Jan 1 2031', '1 Jan 2031', '2031-1-1', '2031-01-01 12:00 AM'],
  ])('without a zone is marked with its line: %s', (text) => {
    expect(markTimes(`\n\ninsert into t values ('A', '${text}')`, '2031-01-01T00:00:00Z')).toEqual([
      `m, line 3: '${text}' has no time zone, so it is 2031-01-01T00:00:00.000Z. Write the zone`,
    ]);
  });

  // A wrong pattern takes `', 3, '` for a quoted text, or the zone of the first time for the zone of the second time
  it.each([
    { what: 'a number between two texts', up: `insert into t values ('orderType', 'X', 3, '2031-01-01')` },
    { what: 'another time that has a zone', up: `select timestamp '2030-01-01' at time zone 'UTC', 1, '2031-01-01'` },
  ])('without a zone is marked after $what', ({ up }) => {
    expect(markTimes(up, '2031-01-01T00:00:00Z')).toEqual([expect.stringContaining(`'2031-01-01' has no time zone`)]);
  });

  it.each([
    { what: 'with Z', up: `'2031-01-01T00:00:00Z'` },
    { what: 'with UTC', up: `'2031-01-01 00:00 UTC'` },
    { what: 'with an offset', up: `'2031-01-01 00:00:00+00'` },
    { what: 'with the name of a zone', up: `'2031-01-01 00:00 Africa/Abidjan'` },
    { what: 'with `at time zone` after it', up: `timestamp '2031-01-01 00:00' at time zone 'UTC'` },
    { what: 'with a cast and `at time zone` after it', up: `('2031-01-01'::timestamp) at time zone 'UTC'` },
    { what: 'at which no code begins or ends', up: `'2032-01-01'` },
  ])('$what is not marked', ({ up }) => {
    expect(markTimes(up, '2031-01-01T00:00:00Z')).toEqual([]);
  });
});
