import { firstIndex } from './first-index.js';
import { type Fields, type Key, compareKeys, valuesOf } from './record-key.js';

/** Records of a page as it is read. Changes may make it anything from one record to twice as many. */
export const PAGE = 1_000;
const COMMA = 0x2c;

/** What became of a record: its JSON as it is now, or undefined where it is gone. */
export interface RecordChange {
  readonly key: Key;
  readonly json: Buffer | undefined;
}

/** Some records as JSON, one behind the other, a comma behind each. Never changed: all snapshots share it until one of its records changes. */
export class RecordPage {
  private constructor(
    readonly json: Buffer,
    /** Where each record ends, without its comma. */
    private readonly ends: Uint32Array,
  ) {}

  /**
   * @param text the records' JSON, with commas between
   * @param lengths of each record, in bytes
   */
  static ofText(text: string, lengths: readonly number[]): RecordPage {
    let end = -1;
    const ends = Uint32Array.from(lengths, (length) => (end += 1 + length));
    const json = Buffer.allocUnsafeSlow(end + 1);
    json.write(text);
    json[end] = COMMA;
    return new RecordPage(json, ends);
  }

  static of(records: readonly Buffer[]): RecordPage {
    const json = Buffer.allocUnsafeSlow(records.reduce((sum, { length }) => sum + length + 1, 0));
    let end = -1;
    const ends = Uint32Array.from(records, (record) => {
      end += 1 + record.copy(json, end + 1);
      json[end] = COMMA;
      return end;
    });
    return new RecordPage(json, ends);
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

  record(index: number): Buffer {
    return this.json.subarray(this.startOf(index), this.endOf(index));
  }

  /** Order of a record relative to the values of its leading `fields`: negative, 0 or positive. */
  compare(index: number, fields: Fields, values: readonly Buffer[]): number {
    return compareKeys(this.json, this.startOf(index), fields, values);
  }

  /** The pages that take the place of this one: none where no record is left, several where it grew beyond twice its size. */
  with(changes: readonly RecordChange[], fields: Fields): RecordPage[] {
    if (changes.length === 0) return [this];
    const records = Array.from(this.ends, (_, index) => this.record(index));
    for (const { key, json } of changes) {
      const values = valuesOf(key, fields);
      const order = (index: number): number =>
        compareKeys(records[index] as Buffer, 0, fields, values);
      const at = firstIndex(records.length, (index) => order(index) >= 0);
      const isThere = at < records.length && order(at) === 0;
      records.splice(at, isThere ? 1 : 0, ...(json ? [json] : []));
    }
    const pages =
      records.length > 2 * PAGE ? Math.ceil(records.length / PAGE) : Math.min(records.length, 1);
    const size = Math.ceil(records.length / pages);
    return Array.from({ length: pages }, (_, at) =>
      RecordPage.of(records.slice(at * size, (at + 1) * size)),
    );
  }
}
