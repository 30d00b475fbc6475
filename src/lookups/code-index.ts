import { groupBy } from '../collections/group-by.js';
import type { CommunicationCode } from '../database/entities.js';
import type { CodeRows } from './code-rows.js';
import type { Filters } from './filters.js';

/** The rows of all moments, with maps by which the records of an answer are found without looking at all of them. */
export class CodeIndex {
  /** All moments at which a code begins or ends, in milliseconds since the epoch, the earliest first, each once. */
  readonly momentsMs: readonly number[];
  private readonly recordsByType: ReadonlyMap<string, readonly CommunicationCode[]>;
  private readonly recordsByCode: ReadonlyMap<string, readonly CommunicationCode[]>;

  constructor(readonly rows: CodeRows) {
    this.recordsByType = groupBy(rows.records, ({ codeType }) => codeType);
    this.recordsByCode = groupBy(rows.records, ({ code }) => code);
    this.momentsMs = momentsOf(rows);
  }

  /** The first moment after this one at which a code begins or ends, or Infinity. */
  nextMomentMs(momentMs: number): number {
    return this.momentsMs.find((each) => each > momentMs) ?? Infinity;
  }

  /**
   * The records of all moments that match, in the order of the answers. A match is exact and case-sensitive, and both
   * filters together mean AND.
   */
  find({ codeType, code }: Filters): readonly CommunicationCode[] {
    if (code !== undefined) return this.findByCode(code, codeType);
    if (codeType !== undefined) return this.recordsByType.get(codeType) ?? [];
    return this.rows.records;
  }

  /** A code stands once in each type at most. So few records have it, where a type may have thousands. */
  private findByCode(code: string, codeType: string | undefined): readonly CommunicationCode[] {
    const records = this.recordsByCode.get(code) ?? [];
    if (codeType === undefined) return records;
    return records.filter((record) => record.codeType === codeType);
  }
}

function momentsOf({ values, records }: CodeRows): number[] {
  const moments = new Set<number>();
  for (const rows of [values, records]) {
    for (const { validFromMs, validUntilMs } of rows) {
      if (validFromMs > -Infinity) moments.add(validFromMs);
      if (validUntilMs < Infinity) moments.add(validUntilMs);
    }
  }
  return [...moments].sort((one, other) => one - other);
}
