import { describe, expect, it } from '@jest/globals';
import { OrderedRecords } from './ordered-records.js';
import type { Fields, Key } from './record-key.js';
import { type RecordChange, RecordPage } from './record-page.js';

const FIELDS: Fields[] = [
  ['codeType', 'code'],
  ['code', 'codeType'],
];
const byteOrder = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
const nameOf = ({ codeType, code }: Key): string => `${codeType}\0${code}`;

/** The records kept in a map and sorted whenever they are asked for. */
class Model {
  readonly records = new Map<string, Key & { description: string }>();

  apply(changes: readonly RecordChange[]): void {
    for (const { key, json } of changes) {
      if (json)
        this.records.set(nameOf(key), JSON.parse(json.toString()) as Key & { description: string });
      else this.records.delete(nameOf(key));
    }
  }

  sorted([first, second]: Fields): (Key & { description: string })[] {
    return [...this.records.values()].sort(
      (a, b) => byteOrder(a[first], b[first]) || byteOrder(a[second], b[second]),
    );
  }
}

/** Numbers that are the same in every run. */
function randomly(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const bytesOf = (records: OrderedRecords, from = 0, to = records.count): string =>
  from === to ? '' : Buffer.concat(records.slice(from, to)).toString();
const ODD = ['"', '\\', '\\"', 'é', '\u{1f69a}', '~', '!'];

describe.each(FIELDS)('records in the order of %s, then %s', (...fields) => {
  it.each([
    ['a few', 12, 3, 300],
    ['pages that split and vanish', 9_000, 900, 25],
  ])(
    'are those that there would be if all were read anew, whatever changes: %s',
    (_, keys, atOnce, rounds) => {
      const random = randomly(keys);
      const model = new Model();
      let records = new OrderedRecords([], fields);
      for (let round = 0; round < rounds; round++) {
        const fills = round < rounds / 2;
        const changed = new Map<string, RecordChange>();
        for (let number = random(atOnce) + 1; number > 0; number--) {
          const key = {
            codeType: `T${random(7)}${ODD[random(ODD.length)]}`,
            code: `${ODD[random(ODD.length)]}${random(keys)}`,
          };
          const stays = random(10) < (fills ? 9 : 2);
          changed.set(nameOf(key), {
            key,
            json: stays
              ? Buffer.from(JSON.stringify({ ...key, description: `Round ${round} é` }))
              : undefined,
          });
        }
        if (!fills)
          for (const key of [...model.records.values()].filter(() => random(4) === 0))
            changed.set(nameOf(key), { key, json: undefined });
        const before = bytesOf(records);
        const after = records.with([...changed.values()]);
        expect(bytesOf(records)).toBe(before);
        records = after;
        model.apply([...changed.values()]);
        const expected = model.sorted(fields);
        expect(records.count).toBe(expected.length);
        expect(bytesOf(records)).toBe(expected.map((record) => JSON.stringify(record)).join(','));
      }
      const sorted = model.sorted(fields);
      for (const [first, second] of sorted
        .slice(0, 50)
        .map((record) => [record[fields[0]], record[fields[1]]] as const)) {
        const one = records.range(Buffer.from(first), Buffer.from(second));
        expect(JSON.parse(bytesOf(records, ...one))).toMatchObject({
          [fields[0]]: first,
          [fields[1]]: second,
        });
        const all = records.range(Buffer.from(first));
        expect(bytesOf(records, ...all)).toBe(
          sorted
            .filter((record) => record[fields[0]] === first)
            .map((record) => JSON.stringify(record))
            .join(','),
        );
      }
    },
  );

  it('share the pages that no change touches', () => {
    const record = (number: number): Key => ({ codeType: `T${number}`, code: `C${number}` });
    const page = (numbers: number[]): RecordPage =>
      RecordPage.of(numbers.map((number) => Buffer.from(JSON.stringify(record(number)))));
    const pages = [page([1, 2]), page([3, 4]), page([5, 6])];
    const before = new OrderedRecords(pages, fields);
    const after = before.with([{ key: record(3), json: undefined }]);
    const buffers = (records: OrderedRecords): ArrayBuffer[] =>
      records.slice(0, records.count).map(({ buffer }) => buffer as ArrayBuffer);
    expect(buffers(after).map((buffer, at) => buffer === buffers(before)[at])).toEqual([
      true,
      false,
      true,
    ]);
  });
});
