import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { Answer } from '../http/answer.js';
import { CodesSnapshot } from './codes-snapshot.js';
import { CodesTimeline } from './codes-timeline.js';
import { CommunicationCodes } from './communication-codes/communication-codes.js';
import { DatedRecords } from './communication-codes/dated-records.js';
import { OrderedRecords } from './communication-codes/ordered-records.js';
import type { Fields } from './communication-codes/record-key.js';
import type { RecordChange } from './communication-codes/record-page.js';
import { AREAS, SupportedValues } from './supported-values/supported-values.js';
import { type Validity, isInForce } from './rows.js';

const NAMES = ['A', 'B', 'C', 'D', 'E', 'F'] as const;
type Rows = ReadonlyMap<string, Validity>;
const START = 1_000_000;

/** One answer of each kind, as text. */
interface Told {
  readonly update: string;
  readonly capture: string;
  readonly codes: string;
  readonly filtered: string;
  readonly etag: string;
}

/** What rows of names say at a moment: each is a value of a list of both areas, and a communication code. */
function modelOf(rows: Rows, moment: number): Told {
  const names = NAMES.filter((name) => {
    const validity = rows.get(name);
    return validity && isInForce(validity, moment);
  });
  const records = (which: readonly string[]): string =>
    JSON.stringify({
      communicationRecords: which.map((name) => ({
        codeType: 'T',
        code: name,
        description: 'Text',
      })),
    });
  const update = JSON.stringify({ list: names });
  return {
    update,
    capture: JSON.stringify({ other: names }),
    codes: records(names),
    filtered: records(names.filter((name) => name === 'C')),
    etag: Answer.of(Buffer.from(update)).etag,
  };
}

async function toldBy({ supportedValues, communicationCodes }: CodesSnapshot): Promise<Told> {
  const text = async (answer: Answer | Promise<Answer>): Promise<string> =>
    Buffer.concat((await answer).parts).toString();
  return {
    update: await text(supportedValues['order-update']),
    capture: await text(supportedValues['order-capture-v2']),
    codes: await text(communicationCodes.find({})),
    filtered: await text(communicationCodes.find({ code: 'C' })),
    etag: supportedValues['order-update'].etag,
  };
}

const valuesOf = (rows: Rows): SupportedValues =>
  new SupportedValues(
    AREAS.map((area, at) => ({ area, property: ['list', 'other'][at] as string, codeList: 'L' })),
    NAMES.flatMap((value) => {
      const validity = rows.get(value);
      return validity ? [{ codeList: 'L', value, ...validity }] : [];
    }),
  );

const changeOf = (name: string, validity: Validity | undefined): RecordChange => ({
  key: { codeType: 'T', code: name },
  json: validity && Buffer.from(JSON.stringify({ codeType: 'T', code: name, description: 'Text' })),
  ...(validity ?? { from: -Infinity, until: Infinity }),
});

const noRecords = (fields: Fields): DatedRecords =>
  new DatedRecords(new OrderedRecords([], fields), new OrderedRecords([], fields));

/** A timeline without any row, at START, with a clock that the test sets. */
function begin() {
  const clock = { time: START, now: () => clock.time };
  const moments: number[] = [];
  const codes = new CommunicationCodes(
    noRecords(['codeType', 'code']),
    noRecords(['code', 'codeType']),
  );
  const timeline = new CodesTimeline(
    new CodesSnapshot(START, codes, valuesOf(new Map())),
    clock,
    (moment) => moments.push(moment),
  );
  return { clock, moments, timeline };
}

const bound = fc.option(fc.integer({ min: -30, max: 60 }), { nil: undefined });
const rowChange = fc.record({
  name: fc.constantFrom(...NAMES),
  from: bound,
  lasts: fc.option(fc.integer({ min: 1, max: 50 }), { nil: undefined }),
  gone: fc.boolean(),
});
const step = fc.record({
  changes: fc.array(rowChange, { maxLength: 4 }),
  passes: fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 3 }),
  wait: fc.integer({ min: 0, max: 25 }),
});

describe('a timeline of codes', () => {
  it('agrees with its rows at each moment, whatever changes before, at and after it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const { clock, ...begun } = begin();
        let { timeline } = begun;
        let rows = new Map<string, Validity>();
        const agrees = async (): Promise<void> =>
          expect(await toldBy(timeline.current)).toEqual(modelOf(rows, clock.time));
        for (const { changes, passes, wait } of steps) {
          const [first = 0, second = 0, third = 0] = passes;
          const changed = new Map(rows);
          const touched = new Set(changes.map(({ name }) => name));
          for (const { name, from = -Infinity, lasts = Infinity, gone } of changes) {
            const begins = from + clock.time;
            if (gone) changed.delete(name);
            else
              changed.set(name, {
                from: begins,
                until: (begins === -Infinity ? clock.time : begins) + lasts,
              });
          }
          const records = [...touched].map((name) => changeOf(name, changed.get(name)));
          const reading = timeline.with({ records, values: valuesOf(changed) });
          clock.time += first;
          await agrees();
          const read = await reading;
          clock.time += second;
          await agrees();
          const preparing = read.prepare();
          clock.time += third;
          await preparing;
          timeline = read;
          rows = changed;
          await agrees();
          for (let passed = 0; passed < wait; passed++) {
            clock.time++;
            await agrees();
            if (passed % 4 === 0) await timeline.prepare();
          }
        }
      }),
      { numRuns: 100 },
    );
  });

  it('is told each moment once, never early, and none that was past when it was read', async () => {
    const { clock, moments, timeline } = begin();
    const rows = new Map([
      ['A', { from: START + 5, until: START + 10 }],
      ['B', { from: START + 10, until: Infinity }],
      ['C', { from: START + 11, until: START + 20_000 }],
    ]);
    clock.time += 7;
    const read = await timeline.with({
      records: [...rows].map((row) => changeOf(...row)),
      values: valuesOf(rows),
    });
    await read.prepare();
    for (; clock.time < START + 30; clock.time++) void read.current;
    expect(moments).toEqual([START + 10, START + 11]);
  });

  it('has nothing to do where no moment lies ahead, and one that lies far ahead is prepared shortly before', async () => {
    const { clock, timeline } = begin();
    await timeline.prepare();
    expect(timeline.idleFor).toBe(Infinity);
    const year = 365 * 86_400_000;
    const rows = new Map([['A', { from: START + year, until: Date.UTC(9999, 11, 31) }]]);
    const dated = await timeline.with({
      records: [changeOf('A', rows.get('A'))],
      values: valuesOf(rows),
    });
    await dated.prepare();
    expect(dated.idleFor).toBe(year - 10_000);
    clock.time += year - 10_000;
    await dated.prepare();
    expect(dated.idleFor).toBe(10_000);
    clock.time += 9_999;
    expect(await toldBy(dated.current)).toEqual(modelOf(new Map(), clock.time));
    clock.time += 1;
    expect(await toldBy(dated.current)).toEqual(modelOf(rows, clock.time));
  });

  it('skips moments that passed before they were prepared, all at once', async () => {
    const { clock, timeline } = begin();
    const rows = new Map(
      NAMES.map((name, at) => [name, { from: START + at * 86_400_000, until: Infinity }]),
    );
    const records = [...rows].map((row) => changeOf(...row));
    const read = await timeline.with({ records, values: valuesOf(rows) });
    await read.prepare();
    clock.time += 3.5 * 86_400_000;
    await read.prepare();
    expect(await toldBy(read.current)).toEqual(modelOf(rows, clock.time));
  });
});
