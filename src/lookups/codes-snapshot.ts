// What the three operations answer at one moment. An answer is made when it is first asked for, and kept with the snapshot, in bounded memory.
// The rows are those of all moments, so that the snapshot of the next moment is made of the same ones, at once.
import { setImmediate as turn } from 'node:timers/promises';
import type { Validity } from '../database/entities.js';
import { Answer } from '../http/answer.js';
import { type Area, type CodeRecord, type CodeRows, isInForce } from './code-rows.js';
import type { Filters } from './filters.js';
import { groupBy } from '../collections/group-by.js';

const PREFIX = '{"communicationRecords":[';
const SUFFIX = ']}';
/** Records that are joined in one turn of the event loop: about a millisecond. */
const PIECE = 2_000;
/** How many answers to filters are kept, and the size of their bodies together; that of the whole list counts until some are forgotten. */
const MOST_ANSWERS = 1_000;
const MOST_BYTES = 32 * 1024 ** 2;

export class CodesSnapshot {
  /** The moments at which a code begins or ends: the last one that has come, and the next one. Infinite where there is none. */
  readonly since: number;
  readonly until: number;
  private readonly supported = new Map<Area, Answer>();
  private whole: Answer | Promise<Answer> | undefined;
  private readonly answers = new Map<string, Answer | Promise<Answer>>();
  private bytes = 0;

  /**
   * @param rows as readCodes returns them
   * @param moment at which it is in force, in milliseconds since the epoch
   */
  constructor(
    readonly rows: CodeRows,
    private readonly moment: number,
    private readonly index = indexOf(rows.records),
  ) {
    [this.since, this.until] = momentsAround(rows, moment);
  }

  /** The snapshot of another moment, earlier or later: this one where callers get the same answers. */
  at(moment: number): CodesSnapshot {
    const isSame = this.since <= moment && moment < this.until;
    return isSame ? this : new CodesSnapshot(this.rows, moment, this.index);
  }

  /** Makes the answers that most callers ask for. */
  async prepare(): Promise<this> {
    await this.communicationCodes({});
    return this;
  }

  supportedValues(area: Area): Answer {
    let answer = this.supported.get(area);
    if (!answer) this.supported.set(area, (answer = this.makeSupportedValues(area)));
    return answer;
  }

  communicationCodes(filters: Filters): Answer | Promise<Answer> {
    const { codeType, code } = filters;
    if (codeType === undefined && code === undefined) return (this.whole ??= this.make(filters));
    const name = `${codeType ?? ''}\0${code ?? ''}`; // a filter is never empty and holds no control characters
    let answer = this.answers.get(name);
    if (answer) return answer;
    answer = this.make(filters);
    if (this.answers.size >= MOST_ANSWERS || this.bytes > MOST_BYTES) {
      this.answers.clear();
      this.bytes = 0;
    }
    this.answers.set(name, answer);
    return answer;
  }

  private makeSupportedValues(wanted: Area): Answer {
    const inForce = this.rows.values.filter((value) => isInForce(value, this.moment));
    const lists = groupBy(inForce, ({ codeList }) => codeList);
    const members = this.rows.properties
      .filter(({ area }) => area === wanted)
      .map(
        ({ property, codeList }) =>
          `${JSON.stringify(property)}:${JSON.stringify((lists.get(codeList) ?? []).map(({ value }) => value))}`,
      );
    // Not from an object, which would move names that look like numbers to the front
    return new Answer(Buffer.from(`{${members.join(',')}}`));
  }

  /** The records of all moments that match: exact, case-sensitive, both filters together mean AND. In their order. */
  private find({ codeType, code }: Filters): readonly CodeRecord[] {
    const { byType, byCode } = this.index;
    if (code === undefined)
      return codeType === undefined ? this.rows.records : (byType.get(codeType) ?? []);
    const found = byCode.get(code) ?? [];
    return codeType === undefined ? found : found.filter((record) => record.codeType === codeType);
  }

  private make(filters: Filters): Answer | Promise<Answer> {
    const records = this.find(filters).filter(({ validity }) => isInForce(validity, this.moment));
    if (records.length > PIECE) return this.makeLarge(records);
    const body = Buffer.from(PREFIX + join(records) + SUFFIX);
    this.bytes += body.length;
    return new Answer(body, { isCoded: true });
  }

  private async makeLarge(records: readonly CodeRecord[]): Promise<Answer> {
    const parts: Buffer[] = [];
    for (let at = 0; at < records.length; at += PIECE) {
      const before = at === 0 ? PREFIX : ',';
      const after = at + PIECE < records.length ? '' : SUFFIX;
      const part = Buffer.from(before + join(records.slice(at, at + PIECE)) + after);
      parts.push(part);
      this.bytes += part.length;
      await turn();
    }
    return new Answer(Buffer.concat(parts), { isCoded: true });
  }
}

const indexOf = (records: readonly CodeRecord[]) => ({
  byType: groupBy(records, ({ codeType }) => codeType),
  byCode: groupBy(records, ({ code }) => code),
});

/** The last moment until `moment` at which a code began or ended, and the next one after it: between the two the answers are the same. */
function momentsAround({ values, records }: CodeRows, moment: number): [number, number] {
  let [last, next] = [-Infinity, Infinity];
  const look = ({ validFrom, validUntil }: Validity): void => {
    for (const bound of [validFrom, validUntil])
      if (bound <= moment) last = Math.max(last, bound);
      else next = Math.min(next, bound);
  };
  values.forEach(look);
  for (const { validity } of records) look(validity);
  return [last, next];
}

const join = (records: readonly CodeRecord[]): string => records.map(({ json }) => json).join(',');
