import { groupBy } from '../collections/group-by.js';
import type { CodeRecord } from './code-rows.js';
import type { Filters } from './filters.js';

/** Finds records by their code type, their code, or both. */
export class RecordIndex {
  private readonly byType: ReadonlyMap<string, readonly CodeRecord[]>;
  private readonly byCode: ReadonlyMap<string, readonly CodeRecord[]>;

  constructor(private readonly records: readonly CodeRecord[]) {
    this.byType = groupBy(records, ({ codeType }) => codeType);
    this.byCode = groupBy(records, ({ code }) => code);
  }

  /** The records that match: exact, case-sensitive, both filters together mean AND. In their order. */
  find({ codeType, code }: Filters): readonly CodeRecord[] {
    if (codeType === undefined && code === undefined) return this.records;
    if (code === undefined) return this.byType.get(codeType as string) ?? [];
    const found = this.byCode.get(code) ?? [];
    return codeType === undefined ? found : found.filter((record) => record.codeType === codeType);
  }
}
