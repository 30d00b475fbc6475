// The JSON of the records is kept twice: sorted by code type and code, and by code and code type. So the answer to any filter is a slice
// between a prefix and a suffix, and its cost does not depend on the number of codes. A record of 100 bytes takes about 300 bytes.
import { createHash } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { Answer, entityTag, lookup } from '../../http/answer.js';
import { CodingMemory, NEGOTIATED_FROM, NegotiatedAnswer } from '../../http/negotiated-answer.js';
import type { DatedRecords } from './dated-records.js';
import type { Filters } from './filters.js';
import type { OrderedRecords } from './ordered-records.js';
import type { RecordChange } from './record-page.js';

const PREFIX = Buffer.from('{"communicationRecords":[');
const SUFFIX = Buffer.from(']}');
/** How many bytes are hashed in one turn of the event loop: about a millisecond. */
const HASH_CHUNK = 512 * 1024;
/** How many answers are cached by their filters. */
const MAX_CACHED = 1_000;
const KIND = lookup(['Vary', 'Accept-Encoding']);
const EMPTY = Answer.of(Buffer.concat([PREFIX, SUFFIX]), KIND);

/** All communication codes at a moment. */
export class CommunicationCodes {
  /** Answers by their filters. For the same filter again this saves a third of the CPU time of a request at 100,000 codes. */
  private readonly cached = new Map<string, Answer | Promise<Answer>>();
  /** Large answers by order and range, so that no large slice is hashed and coded twice. There are at most as many as slices of that size. */
  private readonly large = new Map<string, Promise<Answer>>();
  private readonly codingMemory = new CodingMemory();

  constructor(
    readonly byType: DatedRecords,
    readonly byCode: DatedRecords,
  ) {}

  get count(): number {
    return this.byType.inForce.count;
  }

  /** The size of the longest answer, now or later, in bytes. */
  get bytes(): number {
    return this.byType.inForce.bytes + this.byType.toCome.bytes;
  }

  /** The next moment at which one of them begins or ends, or Infinity. */
  get nextMoment(): number {
    return this.byType.nextMoment;
  }

  /** The codes at a later moment. */
  *at(moment: number): Generator<void, CommunicationCodes> {
    if (moment < this.nextMoment) return this;
    return new CommunicationCodes(yield* this.byType.at(moment), yield* this.byCode.at(moment));
  }

  /** The codes after changes, at the same moment. */
  *with(changes: readonly RecordChange[], moment: number): Generator<void, CommunicationCodes> {
    if (changes.length === 0) return this;
    return new CommunicationCodes(
      yield* this.byType.with(changes, moment),
      yield* this.byCode.with(changes, moment),
    );
  }

  /** The records that match: exact, case-sensitive, both filters together mean AND. */
  find(filters: Filters): Answer | Promise<Answer> {
    const name = `${filters.codeType ?? ''}\0${filters.code ?? ''}`; // a filter is never empty and holds no control characters
    let answer = this.cached.get(name);
    if (answer) return answer;
    answer = this.search(filters);
    if (this.cached.size >= MAX_CACHED) this.cached.clear();
    this.cached.set(name, answer);
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
    const known = this.large.get(name);
    if (known) return known;
    const parts = [PREFIX, ...records.slice(from, to), SUFFIX];
    // A small answer is copied into one buffer and hashed at once, which takes some microseconds
    if (parts.reduce((sum, { length }) => sum + length, 0) < NEGOTIATED_FROM)
      return Answer.of(Buffer.concat(parts), KIND);
    const answer = largeAnswer(parts, this.codingMemory);
    this.large.set(name, answer);
    return answer;
  }
}

async function largeAnswer(parts: readonly Buffer[], memory: CodingMemory): Promise<Answer> {
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
  return new NegotiatedAnswer(parts, entityTag(sha256.digest('base64url')), KIND, memory);
}
