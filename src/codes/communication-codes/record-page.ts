import type { Validity } from '../rows.js';
import { type Fields, type Key, compareKeys, valuesOf } from './record-key.js';

/** Records of a page when it is read. After changes a page has from one to twice as many records. */
export const PAGE = 1_000;
const COMMA = 0x2c;
const NEWLINE = 0x0a;

/** The change of a record: its new JSON, or undefined if it was deleted. */
export interface RecordChange extends Validity {
  readonly key: Key;
  readonly json: Buffer | undefined;
}

/** The records of a page from number `from` up to, not including, `to`. */
export interface RecordRun {
  readonly page: RecordPage;
  readonly from: number;
  readonly to: number;
}

/** What a page consists of. */
export interface PageParts {
  readonly json: Buffer;
  readonly ends: Uint32Array;
  readonly bounds: Float64Array | undefined;
}

/** Records as JSON, each followed by a comma. A page is never changed. Snapshots share it until one of its records changes. */
export class RecordPage {
  /** The first moment at which one of the records begins or ends, or Infinity. */
  readonly nextMoment: number;

  private constructor(
    readonly json: Buffer,
    /** The end of each record, without its comma. */
    private readonly ends: Uint32Array,
    /** `from` and `until` of each record, alternating. */
    private bounds?: Float64Array,
  ) {
    this.nextMoment = bounds
      ? ends.reduce((first, _end, index) => Math.min(first, this.nextMomentOf(index)), Infinity)
      : Infinity;
    if (this.nextMoment === Infinity) this.bounds = undefined;
  }

  /**
   * @param text the JSON of the records, separated by newlines, which JSON holds only escaped
   * @param bounds `from` and `until` of each record, if any record has one
   */
  static ofText(text: string, bounds?: Float64Array): RecordPage {
    const json = Buffer.allocUnsafeSlow(Buffer.byteLength(text) + 1);
    json.write(text);
    json[json.length - 1] = NEWLINE;
    const ends: number[] = [];
    for (let end = -1; (end = json.indexOf(NEWLINE, end + 1)) >= 0; ends.push(end))
      json[end] = COMMA;
    return new RecordPage(json, Uint32Array.from(ends), bounds);
  }

  static ofParts({ json, ends, bounds }: PageParts): RecordPage {
    return new RecordPage(json, ends, bounds);
  }

  static of(records: readonly Buffer[], bounds?: Float64Array): RecordPage {
    const json = Buffer.allocUnsafeSlow(records.reduce((sum, { length }) => sum + length + 1, 0));
    let end = -1;
    const ends = Uint32Array.from(records, (record) => {
      end += 1 + record.copy(json, end + 1);
      json[end] = COMMA;
      return end;
    });
    return new RecordPage(json, ends, bounds);
  }

  /** Copies records of other pages. `from` is dropped for records that have begun by `moment`. */
  static ofRuns(runs: readonly RecordRun[], moment: number): RecordPage {
    let bytes = 0;
    let count = 0;
    let dated = false;
    for (const { page, from, to } of runs) {
      bytes += page.endOf(to - 1) + 1 - page.startOf(from);
      count += to - from;
      dated ||= page.bounds !== undefined;
    }
    const json = Buffer.allocUnsafeSlow(bytes);
    const ends = new Uint32Array(count);
    const bounds = dated ? new Float64Array(2 * count) : undefined;
    let at = 0;
    let number = 0;
    for (const { page, from, to } of runs) {
      const start = page.startOf(from);
      for (let index = from; index < to; index++, number++) {
        ends[number] = page.endOf(index) - start + at;
        if (!bounds) continue;
        const validity = page.validityOf(index);
        bounds[2 * number] = validity.from <= moment ? -Infinity : validity.from;
        bounds[2 * number + 1] = validity.until;
      }
      at += page.json.copy(json, at, start, page.endOf(to - 1) + 1);
    }
    return new RecordPage(json, ends, bounds);
  }

  get parts(): PageParts {
    const { json, ends, bounds } = this;
    return { json, ends, bounds };
  }

  get count(): number {
    return this.ends.length;
  }

  startOf(index: number): number {
    return index === 0 ? 0 : this.endOf(index - 1) + 1;
  }

  endOf(index: number): number {
    return this.ends[index] as number;
  }

  validityOf(index: number): Validity {
    return this.bounds
      ? { from: this.bounds[2 * index] as number, until: this.bounds[2 * index + 1] as number }
      : ALWAYS;
  }

  /** The next moment of a record: when it begins, or when it ends if it has begun. */
  nextMomentOf(index: number): number {
    const { from, until } = this.validityOf(index);
    return from === -Infinity ? until : from;
  }

  record(index: number): Buffer {
    return this.json.subarray(this.startOf(index), this.endOf(index));
  }

  /** The keys of a record in the order of `fields`. */
  valuesOf(index: number, fields: Fields): Buffer[] {
    return valuesOf(JSON.parse(this.record(index).toString()) as Key, fields);
  }

  /** Order of a record relative to the values of its leading `fields`: negative, 0 or positive. */
  compare(index: number, fields: Fields, values: readonly Buffer[]): number {
    return compareKeys(this.json, this.startOf(index), fields, values);
  }
}

const ALWAYS: Validity = { from: -Infinity, until: Infinity };
