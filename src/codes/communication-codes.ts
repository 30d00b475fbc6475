// No filter builds anything, whatever the number of codes: the records' JSON is kept twice, sorted by code type and code and by code and
// code type, so that the answer to any filter is one slice between a prefix and a suffix. That costs about 300 bytes for a record of 100.
import { createHash } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { Answer, entityTag } from '../http/answer.js';
import type { OrderedRecords } from './ordered-records.js';

const PREFIX = Buffer.from('{"communicationRecords":[');
const SUFFIX = Buffer.from(']}');
/** Up to this size, in bytes, an answer is copied and hashed on request, which costs a few microseconds. */
const SMALL = 4 * 1024;
/** Bytes hashed in one turn of the event loop: about a millisecond. */
const HASH_CHUNK = 512 * 1024;
const EMPTY = Answer.of(Buffer.concat([PREFIX, SUFFIX]));

export interface Filters {
  readonly codeType?: string | undefined;
  readonly code?: string | undefined;
}

/** All communication codes of one snapshot. */
export class CommunicationCodes {
  /** Larger answers that were asked for, by order and range: as many as there are slices above SMALL, at most. */
  private readonly larger = new Map<string, Promise<Answer>>();

  constructor(
    private readonly byType: OrderedRecords,
    private readonly byCode: OrderedRecords,
  ) {}

  get count(): number {
    return this.byType.count;
  }

  /** The records that match: exact, case-sensitive, both filters together mean AND. */
  find({ codeType, code }: Filters): Answer | Promise<Answer> {
    if (codeType === undefined && code !== undefined) return this.answer('code', this.byCode, this.byCode.range(Buffer.from(code)));
    const keys = [codeType, code].filter((key) => key !== undefined).map((key) => Buffer.from(key));
    return this.answer('type', this.byType, keys.length === 0 ? [0, this.count] : this.byType.range(...keys));
  }

  private answer(order: string, records: OrderedRecords, [from, to]: readonly [number, number]): Answer | Promise<Answer> {
    if (from === to) return EMPTY;
    const slice = records.slice(from, to);
    if (slice.length <= SMALL) return Answer.of(Buffer.concat([PREFIX, slice, SUFFIX]));
    const name = `${order} ${from} ${to}`;
    let answer = this.larger.get(name);
    if (!answer) {
      answer = largeAnswer([PREFIX, slice, SUFFIX]);
      this.larger.set(name, answer);
    }
    return answer;
  }
}

async function largeAnswer(parts: readonly Buffer[]): Promise<Answer> {
  const sha256 = createHash('sha256');
  for (const part of parts) {
    for (let at = 0; at < part.length; at += HASH_CHUNK) {
      sha256.update(part.subarray(at, at + HASH_CHUNK));
      if (part.length > HASH_CHUNK) await turn();
    }
  }
  return new Answer(parts, entityTag(sha256.digest('base64url')));
}
