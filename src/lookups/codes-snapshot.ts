import { LRUCache } from 'lru-cache';
import { groupBy } from './group-by.js';
import type { CommunicationCode } from '../database/entities.js';
import { Answer } from '../http/answer.js';
import { AREAS, type Area, type CodeRows, isInForce } from './code-rows.js';

/** The limit for all small answers to filters together. At the limit, the least recently used answers are dropped. */
const MAX_SMALL_ANSWERS_BYTES = 20 * 1024 ** 2;
/** An estimate of the memory that a small answer takes besides its body and its key. */
const ANSWER_ENTRY_BYTES = 1024;
/**
 * An answer of this size or more stays until its snapshot ends. Never set it above MAX_TEXT_BYTES (answer.ts): a cache
 * would drop such a body and make it again, and slow readers would keep every copy in memory.
 */
const LARGE_ANSWER_BYTES = 16 * 1024;

const RECORDS_PER_PIECE = 1_000;

/** A filter that is left out restricts nothing. If both filters are given, a record has to match both. */
export interface Filters {
  readonly codeType?: string | undefined;
  readonly code?: string | undefined;
}

/**
 * All rows, also those that are not in force, with maps that find records by type and by code. `getSnapshot` makes the
 * answers for a time. The index keeps only the last snapshot.
 */
export class CodeIndex {
  private lastSnapshot: CodesSnapshot | undefined;
  /** The times at which a code begins or ends, in milliseconds since the epoch, sorted, and each time only once. */
  readonly effectiveTimesMs: readonly number[];
  private readonly recordsByType: ReadonlyMap<string, readonly CommunicationCode[]>;
  private readonly recordsByCode: ReadonlyMap<string, readonly CommunicationCode[]>;

  constructor(readonly rows: CodeRows) {
    this.recordsByType = groupBy(rows.records, ({ codeType }) => codeType);
    this.recordsByCode = groupBy(rows.records, ({ code }) => code);
    this.effectiveTimesMs = findEffectiveTimes(rows);
  }

  get snapshot(): CodesSnapshot | undefined {
    return this.lastSnapshot;
  }

  /** Returns the snapshot of a time, which may be earlier than the time of the last call. */
  getSnapshot(timeMs: number): CodesSnapshot {
    if (!this.lastSnapshot?.isValidAt(timeMs)) this.lastSnapshot = new CodesSnapshot(this, timeMs);
    return this.lastSnapshot;
  }

  findNextEffectiveTimeMs(timeMs: number): number {
    return this.effectiveTimesMs.find((each) => each > timeMs) ?? Infinity;
  }

  /** Returns the records that match exactly, in the order of the answers, also those that are not in force. */
  find({ codeType, code }: Filters): readonly CommunicationCode[] {
    if (code !== undefined) return this.findByCode(code, codeType);
    if (codeType !== undefined) return this.recordsByType.get(codeType) ?? [];
    return this.rows.records;
  }

  /** Looks up by code first: a code occurs once in a type, while a type may have thousands of codes. */
  private findByCode(code: string, codeType: string | undefined): readonly CommunicationCode[] {
    const records = this.recordsByCode.get(code) ?? [];
    if (codeType === undefined) return records;
    return records.filter((record) => record.codeType === codeType);
  }
}

function findEffectiveTimes({ values, records }: CodeRows): number[] {
  const times = new Set<number>();
  for (const rows of [values, records]) {
    for (const { validFromMs, validUntilMs } of rows) {
      if (validFromMs > -Infinity) times.add(validFromMs);
      if (validUntilMs < Infinity) times.add(validUntilMs);
    }
  }
  return [...times].sort((one, other) => one - other);
}

/**
 * The answers of all operations for one time. They stay valid until a code begins or ends. The constructor makes the
 * answers without filters. An answer to a filter is made when the first caller asks for it.
 */
export class CodesSnapshot {
  /** The answers are valid from this time, in milliseconds since the epoch. -Infinity if no code began or ended yet. */
  readonly sinceMs: number;
  /** The answers are valid until just before this time; Infinity if no code begins or ends later. */
  readonly untilMs: number;
  private readonly supportedValuesByArea: Readonly<Record<Area, Answer>>;
  private readonly allCodes: Answer;
  private readonly smallAnswers = new LRUCache<string, Answer>({
    maxSize: MAX_SMALL_ANSWERS_BYTES,
    sizeCalculation: ({ length: bodyBytes }, key) => bodyBytes + 2 * key.length + ANSWER_ENTRY_BYTES,
  });
  /**
   * These answers are never dropped. An answer to both filters has one record, so it is small. A record is in at most
   * two large answers, one for its type and one for its code. So the map takes at most twice the memory of `allCodes`.
   */
  private readonly largeAnswers = new Map<string, Answer>();

  constructor(
    private readonly index: CodeIndex,
    private readonly timeMs: number,
  ) {
    this.sinceMs = index.effectiveTimesMs.findLast((each) => each <= timeMs) ?? -Infinity;
    this.untilMs = index.findNextEffectiveTimeMs(timeMs);
    const answers = AREAS.map((area) => [area, this.makeSupportedValues(area)]);
    this.supportedValuesByArea = Object.fromEntries(answers) as Record<Area, Answer>;
    this.allCodes = this.makeCommunicationCodes({});
  }

  isValidAt(timeMs: number): boolean {
    return this.sinceMs <= timeMs && timeMs < this.untilMs;
  }

  getSupportedValues(area: Area): Answer {
    return this.supportedValuesByArea[area];
  }

  getCommunicationCodes(filters: Filters): Answer {
    const { codeType, code } = filters;
    if (codeType === undefined && code === undefined) return this.allCodes;
    const key = JSON.stringify([codeType, code]);
    const known = this.smallAnswers.get(key) ?? this.largeAnswers.get(key);
    if (known) return known;
    const answer = this.makeCommunicationCodes(filters);
    const answers = answer.length < LARGE_ANSWER_BYTES ? this.smallAnswers : this.largeAnswers;
    answers.set(key, answer);
    return answer;
  }

  private makeSupportedValues(area: Area): Answer {
    const { properties, values } = this.index.rows;
    const inForce = values.filter((value) => isInForce(value, this.timeMs));
    const valuesByList = groupBy(inForce, ({ codeList }) => codeList);
    const members = properties
      .filter((property) => property.area === area)
      .map(({ property, codeList }) => [property, (valuesByList.get(codeList) ?? []).map(({ value }) => value)]);
    return new Answer(Buffer.from(JSON.stringify(Object.fromEntries(members))));
  }

  private makeCommunicationCodes(filters: Filters): Answer {
    const records = this.index.find(filters).filter((record) => isInForce(record, this.timeMs));
    return new Answer(formatCommunicationCodes(records));
  }
}

/** Formats records in pieces. In one piece, the JSON text of 100,000 records would take 16 MiB besides the answer. */
function formatCommunicationCodes(records: readonly CommunicationCode[]): Buffer {
  const parts = [Buffer.from('{"communicationRecords":[')];
  for (let start = 0; start < records.length; start += RECORDS_PER_PIECE) {
    const piece = records.slice(start, start + RECORDS_PER_PIECE);
    const answered = piece.map(({ codeType, code, description }) => ({ codeType, code, description }));
    const members = JSON.stringify(answered).slice(1, -1); // without the brackets of the array
    parts.push(Buffer.from(start === 0 ? members : `,${members}`));
  }
  parts.push(Buffer.from(']}'));
  return Buffer.concat(parts);
}
