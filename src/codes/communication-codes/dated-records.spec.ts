import { describe, expect, it } from '@jest/globals';
import { type Validity, isInForce } from '../rows.js';
import { DatedRecords } from './dated-records.js';
import { OrderedRecords } from './ordered-records.js';
import type { Fields, Key } from './record-key.js';
import type { RecordChange } from './record-page.js';

type Row = Key & Validity & { json: string; bytes: Record<keyof Key, Buffer> };
const nameOf = ({ codeType, code }: Key): string => `${codeType}\0${code}`;

/** Numbers that are the same in every run. */
function randomly(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function toEnd<Result>(work: Generator<void, Result>): Result {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

const bytesOf = (records: OrderedRecords, from = 0, to = records.count): string =>
  from === to ? '' : Buffer.concat(records.slice(from, to)).toString();
const jsonOf = ({ json }: Row): string => json;
const empty = (fields: Fields): DatedRecords =>
  new DatedRecords(new OrderedRecords([], fields), new OrderedRecords([], fields));
const ODD = ['"', '\\', '\\"', 'é', '\u{1f69a}', '~', '!'];

describe.each<Fields[]>([[['codeType', 'code']], [['code', 'codeType']]])(
  'records in the order of %s',
  (fields) => {
    const [first, second] = fields;
    const sorted = (rows: Iterable<Row>): Row[] =>
      [...rows].sort(
        (a, b) =>
          Buffer.compare(a.bytes[first], b.bytes[first]) ||
          Buffer.compare(a.bytes[second], b.bytes[second]),
      );

    it.each([
      ['a few', 12, 3, 200],
      ['pages that split and vanish', 9_000, 900, 16],
    ])(
      'are those that there would be if all were read anew, whatever changes and whatever moment comes: %s',
      (_, keys, atOnce, rounds) => {
        const random = randomly(keys);
        const rows = new Map<string, Row>();
        let now = 1_000;
        let records = empty(fields);
        for (let round = 0; round < rounds; round++) {
          const fills = round < rounds / 2;
          const changed = new Map<string, RecordChange>();
          for (let number = random(atOnce) + 1; number > 0; number--) {
            const key = {
              codeType: `T${random(7)}${ODD[random(ODD.length)]}`,
              code: `${ODD[random(ODD.length)]}${random(keys)}`,
            };
            const stays = random(10) < (fills ? 9 : 2);
            const from = random(2) === 0 ? -Infinity : now - 20 + random(40);
            const until = random(2) === 0 ? Infinity : Math.max(from, now - 20) + 1 + random(40);
            const json = JSON.stringify({ ...key, description: `Round ${round} é` });
            const bytes = { codeType: Buffer.from(key.codeType), code: Buffer.from(key.code) };
            const row = { ...key, json, bytes, from, until };
            changed.set(nameOf(key), {
              key,
              from,
              until,
              json: stays ? Buffer.from(json) : undefined,
            });
            if (stays) rows.set(nameOf(key), row);
            else rows.delete(nameOf(key));
          }
          const before = bytesOf(records.inForce);
          const changedRecords = toEnd(records.with([...changed.values()], now));
          expect(bytesOf(records.inForce)).toBe(before);
          const next = Math.min(
            ...[...rows.values()].flatMap(({ from, until }) =>
              [from, until].filter((moment) => moment > now && until > now),
            ),
          );
          expect(changedRecords.nextMoment).toBe(next);
          const step = [0, 1, 5, next - now][random(4)] as number;
          if (Number.isFinite(step)) now += step;
          records = toEnd(changedRecords.at(now));
          const all = sorted(rows.values());
          const expected = all.filter((row) => isInForce(row, now));
          expect(records.inForce.count).toBe(expected.length);
          expect(bytesOf(records.inForce)).toBe(expected.map(jsonOf).join(','));
          expect(bytesOf(records.toCome)).toBe(
            all
              .filter(({ from }) => from > now)
              .map(jsonOf)
              .join(','),
          );
        }
        const present = sorted(rows.values()).filter((row) => isInForce(row, now));
        const { inForce } = records;
        for (const row of present.slice(0, 50)) {
          const keysOfRow = [row.bytes[first], row.bytes[second]];
          expect(bytesOf(inForce, ...inForce.range(...keysOfRow))).toBe(jsonOf(row));
          expect(bytesOf(inForce, ...inForce.range(...keysOfRow.slice(0, 1)))).toBe(
            present
              .filter((other) => other[first] === row[first])
              .map(jsonOf)
              .join(','),
          );
        }
      },
    );
  },
);

describe('pages of records', () => {
  const fields: Fields = ['codeType', 'code'];
  const change = (
    number: number,
    { from = -Infinity, until = Infinity }: Partial<Validity> = {},
  ): RecordChange => {
    const key = { codeType: `T${String(number).padStart(5, '0')}`, code: `C${number}` };
    const json = Buffer.from(JSON.stringify({ ...key, description: '' }));
    return { key, json, from, until };
  };
  const buffers = ({ inForce }: DatedRecords): ArrayBufferLike[] =>
    inForce.slice(0, inForce.count).map(({ buffer }) => buffer);
  const shared = (before: DatedRecords, after: DatedRecords): boolean[] =>
    buffers(after).map((buffer) => buffers(before).includes(buffer));
  const pageOf = (numbers: number[], validity?: Validity): RecordChange[] =>
    numbers.map((number) => change(number, validity));

  it('are shared where no change and no moment touches them', () => {
    const all = Array.from({ length: 5_000 }, (_, number) => number);
    const before = toEnd(empty(fields).with(pageOf(all), 0));
    const changed = toEnd(before.with([{ ...change(2_500), json: undefined }], 0));
    expect(shared(before, changed)).toEqual([true, true, false, true, true]);
    const dated = toEnd(before.with([change(4_500, { from: 10, until: 20 })], 0));
    expect(shared(before, dated)).toEqual([true, true, true, true, false]);
    expect(shared(dated, toEnd(dated.at(9)))).toEqual([true, true, true, true, true]);
    expect(toEnd(dated.at(9)).inForce).toBe(dated.inForce);
    expect(shared(dated, toEnd(dated.at(10)))).toEqual([true, true, true, true, false]);
  });

  it('hold the event loop for a few milliseconds at most, also where all records begin in one page', () => {
    const many = Array.from({ length: 20_000 }, (_, number) => number);
    let records = empty(fields);
    for (let at = 0; at < many.length; at += 1_000)
      records = toEnd(
        records.with(pageOf(many.slice(at, at + 1_000), { from: 10, until: Infinity }), 0),
      );
    expect(records.inForce.count).toBe(0);
    const work = records.at(10);
    let pieces = 0;
    while (!work.next().done) pieces++;
    expect(pieces).toBeGreaterThan(20_000);
    expect(toEnd(records.at(10)).inForce.count).toBe(20_000);
  });
});
