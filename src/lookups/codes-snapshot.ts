import { LRUCache } from 'lru-cache';
import { groupBy } from '../collections/group-by.js';
import { Answer } from '../http/answer.js';
import type { CodeIndex } from './code-index.js';
import { AREAS, type Area, isInForce } from './code-rows.js';
import type { Filters } from './filters.js';

/** How many answers to filters are kept, since each takes about a kilobyte beside its body. */
const MAX_FILTER_ANSWERS = 1_000;
/** Of their bodies together. */
const MAX_FILTER_BYTES = 20 * 1024 ** 2;

/**
 * What the three operations answer at one moment, and until the next one at which a code begins or ends. The answers
 * that most callers ask for are made with it, those to filters when they are first asked for.
 */
export class CodesSnapshot {
  /** From when on it holds, in milliseconds since the epoch; infinite if no code has begun or ended before. */
  readonly sinceMs: number;
  /** Until just before when it holds; Infinity if no code begins or ends later. */
  readonly untilMs: number;
  private readonly supportedValuesByArea = new Map<Area, Answer>();
  private readonly allCodes: Answer;
  private readonly filterAnswers = new LRUCache<string, Answer>({
    max: MAX_FILTER_ANSWERS,
    maxSize: MAX_FILTER_BYTES,
    sizeCalculation: ({ body }) => Buffer.byteLength(body),
  });

  /** @param momentMs in milliseconds since the epoch */
  constructor(
    private readonly index: CodeIndex,
    private readonly momentMs: number,
  ) {
    this.sinceMs = index.momentsMs.findLast((each) => each <= momentMs) ?? -Infinity;
    this.untilMs = index.nextMomentMs(momentMs);
    for (const area of AREAS) this.supportedValuesByArea.set(area, this.makeSupportedValues(area));
    this.allCodes = this.makeCommunicationCodes({});
  }

  /** Whether its answers are those of a moment, in milliseconds since the epoch. */
  holdsAt(momentMs: number): boolean {
    return this.sinceMs <= momentMs && momentMs < this.untilMs;
  }

  supportedValues(area: Area): Answer {
    return this.supportedValuesByArea.get(area) ?? this.makeSupportedValues(area);
  }

  communicationCodes(filters: Filters): Answer {
    const { codeType, code } = filters;
    if (codeType === undefined && code === undefined) return this.allCodes;
    const key = JSON.stringify([codeType, code]);
    const known = this.filterAnswers.get(key);
    if (known) return known;
    const answer = this.makeCommunicationCodes(filters);
    this.filterAnswers.set(key, answer);
    return answer;
  }

  private makeSupportedValues(area: Area): Answer {
    const { properties, values } = this.index.rows;
    const inForce = values.filter((value) => isInForce(value, this.momentMs));
    const valuesByList = groupBy(inForce, ({ codeList }) => codeList);
    const members = properties
      .filter((property) => property.area === area)
      .map(({ property, codeList }) => {
        const names = (valuesByList.get(codeList) ?? []).map(({ value }) => value);
        return `${JSON.stringify(property)}:${JSON.stringify(names)}`;
      });
    // Not from an object, which would move names that look like numbers to the front
    return new Answer(Buffer.from(`{${members.join(',')}}`));
  }

  private makeCommunicationCodes(filters: Filters): Answer {
    const communicationRecords = this.index
      .find(filters)
      .filter((record) => isInForce(record, this.momentMs))
      .map(({ codeType, code, description }) => ({ codeType, code, description }));
    const body = Buffer.from(JSON.stringify({ communicationRecords }));
    return new Answer(body);
  }
}
