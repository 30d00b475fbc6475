import { firstIndex } from './first-index.js';
import { type Fields, valuesOf } from './record-key.js';
import { type RecordChange, RecordPage } from './record-page.js';

/** Communication code records sorted by `fields`. Any run of them is a few views of their pages. */
export class OrderedRecords {
  /** Which number the first record of each page has, and how many records there are. */
  private readonly numbers: readonly number[];

  /**
   * @param pages with at least one record each
   * @param fields `['codeType', 'code']` or `['code', 'codeType']`
   */
  constructor(
    private readonly pages: readonly RecordPage[],
    private readonly fields: Fields,
  ) {
    let number = 0;
    this.numbers = [0, ...pages.map(({ count }) => (number += count))];
  }

  get count(): number {
    return this.numbers.at(-1) as number;
  }

  /** Bytes of all records with their commas. */
  get bytes(): number {
    return this.pages.reduce((sum, { json }) => sum + json.length, 0);
  }

  /** First and last-plus-one number of the records whose leading fields are `values`. */
  range(...values: readonly Buffer[]): [number, number] {
    return [
      this.firstWhere((order) => order >= 0, values),
      this.firstWhere((order) => order > 0, values),
    ];
  }

  /** The bytes of the records from number `from` up to, not including, `to`, with commas between: there is at least one. */
  slice(from: number, to: number): Buffer[] {
    const first = this.pageOf(from);
    const last = this.pageOf(to - 1);
    return this.pages.slice(first, last + 1).map((page, index) => {
      const number = this.numbers[first + index] as number;
      return page.json.subarray(
        page.startOf(Math.max(0, from - number)),
        number + page.count < to ? undefined : page.endOf(to - 1 - number),
      );
    });
  }

  /** The records with `changes`. Pages without any are shared. */
  with(changes: readonly RecordChange[]): OrderedRecords {
    const pages = this.pages.length > 0 ? this.pages : [RecordPage.of([])];
    const changed = pages.map((): RecordChange[] => []);
    for (const change of changes) {
      const page = this.firstPageWhere((order) => order >= 0, valuesOf(change.key, this.fields));
      changed[Math.min(page, pages.length - 1)]?.push(change);
    }
    return new OrderedRecords(
      pages.flatMap((page, at) => page.with(changed[at] ?? [], this.fields)),
      this.fields,
    );
  }

  private pageOf(number: number): number {
    return firstIndex(this.pages.length, (at) => (this.numbers[at + 1] as number) > number);
  }

  private firstWhere(passes: (order: number) => boolean, values: readonly Buffer[]): number {
    const at = this.firstPageWhere(passes, values);
    const page = this.pages[at];
    return (
      (this.numbers[at] as number) +
      (page
        ? firstIndex(page.count, (index) => passes(page.compare(index, this.fields, values)))
        : 0)
    );
  }

  /** The first page whose last record passes. */
  private firstPageWhere(passes: (order: number) => boolean, values: readonly Buffer[]): number {
    return firstIndex(this.pages.length, (at) => {
      const page = this.pages[at] as RecordPage;
      return passes(page.compare(page.count - 1, this.fields, values));
    });
  }
}
