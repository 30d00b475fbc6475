import { describe, expect, it } from '@jest/globals';
import { Test } from '@nestjs/testing';
import * as fc from 'fast-check';
import { measureHeap } from '../../test/support/process-figures.js';
import { silentLogger } from '../../test/support/silent-logger.js';
import type { CommunicationCode, Validity } from '../database/entities.js';
import { DatabaseClock } from '../following/database-clock.js';
import { FollowingService } from '../following/following.service.js';
import { Answer } from '../http/answer.js';
import { Metrics } from '../telemetry/metrics.js';
import { ServiceLogger } from '../telemetry/service-logger.js';
import { ALWAYS, AREAS, type CodeRows } from './code-rows.js';
import { CodeIndex, type Filters } from './codes-snapshot.js';
import { CodesService } from './codes.service.js';

const START_MS = 1_000_000;
// A filter matches exactly: no answer may confuse `T` with `T `, or `B` with `b`. The last name needs escapes in JSON
const TYPES = ['T', 'T ', 'U'];
const NAMES = ['A', 'B', 'b', '"\\𝄞'];
const FILTERS: Filters[] = [undefined, 'T', 'none'].flatMap((codeType) =>
  [undefined, 'B', 'b', 'none'].map((code) => ({ codeType, code })),
);

/** Starts the service. The test sets its rows and the database's clock. */
async function start() {
  const clock = { nowMs: START_MS, now: () => clock.nowMs };
  const topic: { value: CodeIndex | undefined } = { value: undefined };
  const module = await Test.createTestingModule({
    providers: [
      CodesService,
      Metrics,
      { provide: DatabaseClock, useValue: clock },
      { provide: FollowingService, useValue: { follow: () => topic } },
      { provide: ServiceLogger, useValue: silentLogger },
    ],
  }).compile();
  const read = (rows: CodeRows): void => {
    topic.value = new CodeIndex(rows);
  };
  const metric = async (name: string): Promise<string | undefined> => {
    const text = await module.get(Metrics).registry.metrics();
    return new RegExp(`^order_lookup_${name} (.*)$`, 'm').exec(text)?.[1];
  };
  return { clock, service: module.get(CodesService), read, metric };
}

const textOf = (answer: Answer | undefined): string => String(answer?.body);

/** The validity of each name. A name is a value of the list L, and a code of each of TYPES. */
type Validities = ReadonlyMap<string, Validity>;

function rowsOf(validities: Validities): CodeRows {
  const entries = [...validities];
  return {
    properties: AREAS.map((area, index) => {
      return { area, property: `p${index}`, position: 1, codeList: 'L' };
    }),
    values: entries.map(([value, validity], position) => {
      return { codeList: 'L', value, position, ...validity };
    }),
    records: TYPES.flatMap((codeType) =>
      entries.map(([code, validity]) => ({ codeType, code, description: 'Text', ...validity })),
    ),
  };
}

function expectedTextsAt(validities: Validities, timeMs: number): string[] {
  const names = [...validities]
    .filter(([, { validFromMs, validUntilMs }]) => validFromMs <= timeMs && timeMs < validUntilMs)
    .map(([name]) => name);
  const all = TYPES.flatMap((codeType) => names.map((code) => ({ codeType, code, description: 'Text' })));
  const matching = (filters: Filters) =>
    all.filter(({ codeType, code }) => {
      const fitsType = filters.codeType === undefined || filters.codeType === codeType;
      return fitsType && (filters.code === undefined || filters.code === code);
    });
  return [
    ...AREAS.map((_, index) => JSON.stringify({ [`p${index}`]: names })),
    ...FILTERS.map((filters) => JSON.stringify({ communicationRecords: matching(filters) })),
  ];
}

const beginMs = fc.option(fc.integer({ min: -30, max: 60 }), { nil: undefined });
const durationMs = fc.option(fc.integer({ min: 1, max: 50 }), { nil: undefined });
const validity = fc.record({ begin: beginMs, duration: durationMs }).map(({ begin, duration }) => ({
  validFromMs: begin === undefined ? -Infinity : START_MS + begin,
  validUntilMs: duration === undefined ? Infinity : START_MS + (begin ?? 0) + duration,
}));
const step = fc.record({
  /** The rows of the next reading, or undefined if nothing is read. */
  rows: fc.option(fc.uniqueArray(fc.tuple(fc.constantFrom(...NAMES), validity), { selector: ([name]) => name }), {
    nil: undefined,
  }),
  /** The new time of the clock, counted from START_MS. Between two steps, several codes may begin or end. */
  clockMs: fc.integer({ min: -40, max: 120 }),
});

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;
/** At 60 ms one code ends and another begins. Both are read at -40 ms. A caller asks at 59 and at 60 ms. */
const AT_AN_EFFECTIVE_TIME: Step[] = [
  {
    rows: [
      ['A', { validFromMs: -Infinity, validUntilMs: START_MS + 60 }],
      ['B', { validFromMs: START_MS + 60, validUntilMs: Infinity }],
    ],
    clockMs: -40,
  },
  { rows: undefined, clockMs: 59 },
  { rows: undefined, clockMs: 60 },
];

describe('the codes that are served', () => {
  it('are in force by the clock of the database at each call, also if the clock jumps', async () => {
    const steps = fc.array(step, { minLength: 1, maxLength: 12 });
    const property = fc.asyncProperty(steps, async (taken) => {
      const { clock, service, read } = await start();
      let validities: Validities = new Map();
      read(rowsOf(validities));
      for (const { rows, clockMs } of taken) {
        if (rows) {
          validities = new Map(rows);
          read(rowsOf(validities));
        }
        clock.nowMs = START_MS + clockMs;
        const answers = [
          ...AREAS.map((area) => service.getSupportedValues(area)),
          ...FILTERS.map((filters) => service.getCommunicationCodes(filters)),
        ];
        const expected = expectedTextsAt(validities, clock.nowMs);
        expect(answers.map(textOf)).toEqual(expected);
        const etags = expected.map((text) => new Answer(Buffer.from(text)).etag);
        expect(answers.map((answer) => answer?.etag)).toEqual(etags);
      }
    });
    await fc.assert(property, { numRuns: 100, examples: [[AT_AN_EFFECTIVE_TIME]] });
  });

  it('are counted by a metric while they are in force, and another metric shows the next effective time', async () => {
    const { clock, read, metric } = await start();
    const validities: Validities = new Map([
      ['A', ALWAYS],
      ['B', { validFromMs: -Infinity, validUntilMs: START_MS + 1_000 }],
      ['b', { validFromMs: START_MS + 1_000, validUntilMs: Infinity }],
      ['"', { validFromMs: START_MS + 2_000, validUntilMs: Infinity }],
    ]);
    read(rowsOf(validities));
    expect(await metric('communication_codes')).toBe(String(2 * TYPES.length));
    const nextEffectiveTime = () => metric('next_moment_timestamp_seconds');
    expect(await nextEffectiveTime()).toBe(String(START_MS / 1000 + 1));
    clock.nowMs = START_MS + 2_000;
    expect(await metric('communication_codes')).toBe(String(3 * TYPES.length));
    expect(await nextEffectiveTime()).toBe('0');
    expect(await metric('moments_switched_total')).toBe('0'); // nobody has asked for codes
  });

  it('come in properties that have the order of the database', async () => {
    const { service, read } = await start();
    const rows = rowsOf(new Map());
    const properties = ['b', 'a'].map((property, position) => {
      return { area: 'order-update', property, position, codeList: 'L' };
    });
    read({ ...rows, properties });
    expect(textOf(service.getSupportedValues('order-update'))).toBe('{"b":[],"a":[]}');
  });
});

/** Returns records that share one description, so that only the answers take memory. */
function manyRecords({ types = 1, perType = 1, bytes = 1 }): CommunicationCode[] {
  const description = 'x'.repeat(bytes);
  const records: CommunicationCode[] = [];
  for (let type = 0; type < types; type++) {
    for (let code = 0; code < perType; code++) {
      records.push({ codeType: `T${type}`, code: `C${code}`, description, ...ALWAYS });
    }
  }
  return records;
}

describe('answers', () => {
  const PIECE = 1_000; // RECORDS_PER_PIECE of codes-snapshot.ts
  it.each([{ count: 0 }, { count: PIECE }, { count: PIECE + 1 }, { count: 2.5 * PIECE }])(
    'contain all of $count records in their order, although they are formatted in pieces',
    async ({ count }) => {
      const { service, read } = await start();
      const records = manyRecords({ perType: count });
      read({ ...rowsOf(new Map()), records });
      const communicationRecords = records.map(({ codeType, code, description }) => ({ codeType, code, description }));
      expect(textOf(service.getCommunicationCodes({}))).toBe(JSON.stringify({ communicationRecords }));
    },
  );

  it('to the same filter are made once', async () => {
    const { service, read } = await start();
    read(rowsOf(new Map([['A', ALWAYS]])));
    for (const filters of FILTERS) {
      const answer = service.getCommunicationCodes(filters);
      expect(service.getCommunicationCodes({ ...filters })).toBe(answer);
    }
  });

  it('to filters with many codes are made once, even if callers use 20,000 other filters meanwhile', async () => {
    const { service, read } = await start();
    // The answer for a type is larger than LARGE_ANSWER_BYTES. The small answers exceed MAX_SMALL_ANSWERS_BYTES
    read({ ...rowsOf(new Map()), records: manyRecords({ types: 20, perType: 100, bytes: 10_000 }) });
    const askForEachType = () => {
      return Array.from({ length: 20 }, (_, type) => service.getCommunicationCodes({ codeType: `T${type}` }));
    };
    const answers = askForEachType();
    for (let filter = 0; filter < 20_000; filter++) service.getCommunicationCodes({ code: `none-${filter}` });
    const areTheSame = askForEachType().map((answer, type) => answer === answers[type]);
    expect(areTheSame).not.toContain(false);
  });

  it('to 40,000 different filters take bounded memory', async () => {
    const { service, read } = await start();
    read(rowsOf(new Map()));
    const before = measureHeap();
    for (let filter = 0; filter < 40_000; filter++) {
      service.getCommunicationCodes({ code: `${filter}${'x'.repeat(250)}` });
    }
    // MAX_SMALL_ANSWERS_BYTES and a reserve. Without a limit, the answers would take 70 MB
    expect(measureHeap() - before).toBeLessThan(25_000_000);
  });
});
