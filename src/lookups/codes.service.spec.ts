import { describe, expect, it } from '@jest/globals';
import { Test } from '@nestjs/testing';
import * as fc from 'fast-check';
import { usedHeap } from '../../test/support/heap.js';
import { DatabaseClock } from '../database/database-clock.js';
import { Answer } from '../http/answer.js';
import { SnapshotsService } from '../snapshots/snapshots.service.js';
import { silentLogger } from '../../test/support/silent-logger.js';
import { Metrics } from '../telemetry/metrics.js';
import { ServiceLogger } from '../telemetry/service-logger.js';
import { AREAS, type CodeRecord, type CodeRows, recordOf } from './code-rows.js';
import { CodesSnapshot } from './codes-snapshot.js';
import { CodesService } from './codes.service.js';
import type { Filters } from './filters.js';

type Validity = Pick<CodeRecord['validity'], 'validFrom' | 'validUntil'>;
const START = 1_000_000;
const ALWAYS: Validity = { validFrom: -Infinity, validUntil: Infinity };
const TYPES = ['T', 'T ', 'U'];
const NAMES = ['A', 'B', 'b', '"\\𝄞'];
const FILTERS: Filters[] = [undefined, 'T', 'none'].flatMap((codeType) =>
  [undefined, 'B', 'b', 'none'].map((code) => ({ codeType, code })),
);

/** The service with rows and a clock of the database that the test sets. */
async function begin() {
  const clock = { time: START, now: () => clock.time };
  const polled: { current: CodesSnapshot | undefined } = { current: undefined };
  const module = await Test.createTestingModule({
    providers: [
      CodesService,
      Metrics,
      { provide: DatabaseClock, useValue: clock },
      { provide: SnapshotsService, useValue: { poll: () => polled } },
      { provide: ServiceLogger, useValue: silentLogger },
    ],
  }).compile();
  const service = module.get(CodesService);
  const read = (rows: CodeRows): void => {
    polled.current = new CodesSnapshot(rows, clock.time);
  };
  return { clock, service, read };
}

const textOf = async (answer: Answer | Promise<Answer>): Promise<string> =>
  String((await answer).body);

/** The validity of each code of each type, and of the value with the same name. */
type Given = ReadonlyMap<string, Validity>;

function rowsOf(given: Given): CodeRows {
  const known = new Map<string, string>();
  return {
    properties: AREAS.map((area, at) => ({ area, property: `p${at}`, position: 1, codeList: 'L' })),
    values: [...given].map(([value, validity], position) => {
      return { codeList: 'L', value, position, ...validity };
    }),
    records: TYPES.flatMap((codeType) =>
      [...given].map(([code, validity]) =>
        recordOf({ codeType, code, description: 'Text', ...validity }, known),
      ),
    ),
  };
}

/** What they say at a moment. */
function modelOf(given: Given, moment: number) {
  const names = [...given]
    .filter(([, { validFrom, validUntil }]) => validFrom <= moment && moment < validUntil)
    .map(([name]) => name);
  const records = ({ codeType: type, code: name }: Filters): string => {
    const found = TYPES.flatMap((codeType) =>
      names.map((code) => ({ codeType, code, description: 'Text' })),
    ).filter(({ codeType, code }) => (type ?? codeType) === codeType && (name ?? code) === code);
    return JSON.stringify({ communicationRecords: found });
  };
  return [
    ...AREAS.map((_, at) => JSON.stringify({ [`p${at}`]: names })),
    ...FILTERS.map((filters) => records(filters)),
  ];
}

const bound = fc.option(fc.integer({ min: -30, max: 60 }), { nil: undefined });
const validity = fc
  .tuple(bound, fc.option(fc.integer({ min: 1, max: 50 }), { nil: undefined }))
  .map(([from, lasts]) => ({
    validFrom: from === undefined ? -Infinity : START + from,
    validUntil: lasts === undefined ? Infinity : START + (from ?? 0) + lasts,
  }));
const step = fc.record({
  /** The rows that are read, or undefined: they stay as they are. */
  given: fc.option(
    fc.uniqueArray(fc.tuple(fc.constantFrom(...NAMES), validity), { selector: ([name]) => name }),
    { nil: undefined },
  ),
  /** The clock moves on, jumps over moments, and is set back. */
  time: fc.integer({ min: -40, max: 120 }),
});

describe('the codes that are served', () => {
  it('are those of the rows and of the moment at each access, whatever the clock of the database does', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
        const { clock, service, read } = await begin();
        let given: Given = new Map();
        read(rowsOf(given));
        for (const next of steps) {
          if (next.given) read(rowsOf((given = new Map(next.given))));
          clock.time = START + next.time;
          const answers = [
            ...AREAS.map((area) => service.supportedValues(area)),
            ...(await Promise.all(
              FILTERS.map(async (filters) => service.communicationCodes(filters)),
            )),
          ];
          const wanted = modelOf(given, clock.time);
          expect(await Promise.all(answers.map(textOf))).toEqual(wanted);
          expect(answers.map(({ etag }) => etag)).toEqual(
            wanted.map((text) => new Answer(Buffer.from(text)).etag),
          );
        }
      }),
      { numRuns: 100 },
    );
  });
});

/** Records that share one text, so that only what is made of them takes memory. */
function manyRecords(types: number, ofEach: number, size: number): CodeRows {
  const json = JSON.stringify({ description: 'x'.repeat(size) });
  const records: CodeRecord[] = [];
  for (let type = 0; type < types; type++)
    for (let code = 0; code < ofEach; code++)
      records.push({ codeType: `T${type}`, code: `C${code}`, json, validity: ALWAYS });
  return { ...rowsOf(new Map()), records };
}

describe('answers', () => {
  it('to 20,000 different filters and to 100 large code types are kept in bounded memory', async () => {
    const { service, read } = await begin();
    read(manyRecords(100, 1_000, 1_000));
    await service.communicationCodes({ code: 'none' });
    const before = usedHeap();
    for (let filter = 0; filter < 20_000; filter++)
      await service.communicationCodes({ code: `${filter}${'x'.repeat(250)}` });
    expect(usedHeap() - before).toBeLessThan(8_000_000); // all of them are forty million
    for (let type = 0; type < 100; type++)
      expect(
        (await service.communicationCodes({ codeType: `T${type}` })).body.length,
      ).toBeGreaterThan(1_000_000);
    usedHeap();
    expect(process.memoryUsage().arrayBuffers).toBeLessThan(60_000_000); // all of them are a hundred million
  });

  it('of very many records are made once, in pieces, between which others have their turn', async () => {
    const { service, read } = await begin();
    const rows = manyRecords(2, 10_000, 10);
    read(rows);
    const answers = Array.from({ length: 10 }, async () => service.communicationCodes({}));
    let turns = 0;
    const others = (): NodeJS.Immediate => (turns++, setImmediate(() => (last = others())));
    let last = others();
    const [first, ...rest] = await Promise.all(answers);
    clearImmediate(last);
    expect(new Set(rest)).toEqual(new Set([first]));
    expect(turns).toBeGreaterThan(5);
    const text = `{"communicationRecords":[${rows.records.map(({ json }) => json).join(',')}]}`;
    expect(await textOf(first as Answer)).toBe(text);
    expect(first?.etag).toBe(new Answer(Buffer.from(text)).etag);
  });
});
