// No filter builds anything, whatever the number of codes: the records' JSON is kept twice, sorted by code type and code and by code and
// code type, so that the answer to any filter is a slice between a prefix and a suffix. That costs about 300 bytes for a record of 100.
import { createHash } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { Answer, entityTag } from '../../http/answer.js';
import type { DatedRecords } from './dated-records.js';
import type { OrderedRecords } from './ordered-records.js';
import type { RecordChange } from './record-page.js';

const PREFIX = Buffer.from('{"communicationRecords":[');
const SUFFIX = Buffer.from(']}');
/** Up to this size, in bytes, an answer is copied, so that it is sent in one piece, and hashed on request: that costs some microseconds. */
const SMALL = 16 * 1024;
/** Bytes hashed in one turn of the event loop: about a millisecond. */
const HASH_CHUNK = 512 * 1024;
/** Answers up to SMALL that are kept to be given again. */
const MOST_GIVEN = 1_000;
const EMPTY = Answer.of(Buffer.concat([PREFIX, SUFFIX]));

export interface Filters {
  readonly codeType?: string | undefined;
  readonly code?: string | undefined;
}

/** All communication codes, as of a moment. */
export class CommunicationCodes {
  /** Answers that were given, by their filters. */
  private readonly given = new Map<string, Answer | Promise<Answer>>();
  /** Larger answers that were asked for, by order and range: as many as there are slices above SMALL, at most. */
  private readonly larger = new Map<string, Promise<Answer>>();

  constructor(
    private readonly byType: DatedRecords,
    private readonly byCode: DatedRecords,
  ) {}

  get count(): number {
    return this.byType.inForce.count;
  }

  /** Bytes that the longest answer may have, now or later. */
  get bytes(): number {
    return this.byType.inForce.bytes + this.byType.toCome.bytes;
  }

  /** When the next of them begins or ends, or Infinity. */
  get nextMoment(): number {
    return this.byType.nextMoment;
  }

  /** The same as of a later moment. */
  *at(moment: number): Generator<void, CommunicationCodes> {
    if (moment < this.nextMoment) return this;
    return new CommunicationCodes(yield* this.byType.at(moment), yield* this.byCode.at(moment));
  }

  /** The same after changes, as of the same moment. */
  *with(changes: readonly RecordChange[], moment: number): Generator<void, CommunicationCodes> {
    if (changes.length === 0) return this;
    return new CommunicationCodes(
      yield* this.byType.with(changes, moment),
      yield* this.byCode.with(changes, moment),
    );
  }

  /** The records that match: exact, case-sensitive, both filters together mean AND. */
  find(filters: Filters): Answer | Promise<Answer> {
    const name = `${filters.codeType ?? ''}\0${filters.code ?? ''}`; // no filter is empty or holds control characters
    let answer = this.given.get(name);
    if (answer) return answer;
    answer = this.search(filters);
    if (this.given.size >= MOST_GIVEN) this.given.clear();
    this.given.set(name, answer);
    return answer;
  }

  private search({ codeType, code }: Filters): Answer | Promise<Answer> {
    if (codeType === undefined && code !== undefined)
      return this.answer('code', this.byCode.inForce, code);
    const keys = [codeType, code].filter((key) => key !== undefined);
    return this.answer('type', this.byType.inForce, ...keys);
  }

  private answer(
    order: string,
    records: OrderedRecords,
    ...keys: readonly string[]
  ): Answer | Promise<Answer> {
    const [from, to] = records.range(...keys.map((key) => Buffer.from(key)));
    if (from === to) return EMPTY;
    const name = `${order} ${from} ${to}`;
    const known = this.larger.get(name);
    if (known) return known;
    const parts = [PREFIX, ...records.slice(from, to), SUFFIX];
    if (parts.reduce((sum, { length }) => sum + length, 0) <= SMALL)
      return Answer.of(Buffer.concat(parts));
    const answer = largeAnswer(parts);
    this.larger.set(name, answer);
    return answer;
  }
}

async function largeAnswer(parts: readonly Buffer[]): Promise<Answer> {
  const sha256 = createHash('sha256');
  let sinceTurn = 0;
  for (const part of parts) {
    for (let at = 0; at < part.length; at += HASH_CHUNK) {
      const chunk = part.subarray(at, at + HASH_CHUNK);
      sha256.update(chunk);
      sinceTurn += chunk.length;
      if (sinceTurn < HASH_CHUNK) continue;
      await turn();
      sinceTurn = 0;
    }
  }
  return new Answer(parts, entityTag(sha256.digest('base64url')));
}
