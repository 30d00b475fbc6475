import type { CodeRecord } from './code-rows.js';
import type { Filters } from './filters.js';

/** Finds records by their code type, their code, or both. It holds no object for a record. */
export class RecordIndex {
  /** The first record of each code type, and the one after its last. */
  private readonly types = new Map<string, readonly [number, number]>();
  /** The first record with each code. */
  private readonly firsts = new Map<string, number>();
  /** For each record the next one with the same code, or -1. */
  private readonly nexts: Int32Array;

  /** @param records sorted by code type */
  constructor(private readonly records: readonly CodeRecord[]) {
    this.nexts = new Int32Array(records.length);
    let end = records.length;
    for (let at = records.length - 1; at >= 0; at--) {
      const { codeType, code } = records[at] as CodeRecord;
      this.nexts[at] = this.firsts.get(code) ?? -1;
      this.firsts.set(code, at);
      if (records[at - 1]?.codeType === codeType) continue;
      this.types.set(codeType, [at, end]);
      end = at;
    }
  }

  /** The records that match: exact, case-sensitive, both filters together mean AND. In their order. */
  find({ codeType, code }: Filters): readonly CodeRecord[] {
    if (code !== undefined) {
      const found = this.withCode(code);
      return codeType === undefined
        ? found
        : found.filter((record) => record.codeType === codeType);
    }
    return codeType === undefined
      ? this.records
      : this.records.slice(...(this.types.get(codeType) ?? [0, 0]));
  }

  private withCode(code: string): CodeRecord[] {
    const found: CodeRecord[] = [];
    for (let at = this.firsts.get(code) ?? -1; at >= 0; at = this.nexts[at] as number)
      found.push(this.records[at] as CodeRecord);
    return found;
  }
}
