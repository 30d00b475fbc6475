import { PAGE, RecordPage, type RecordRun } from './record-page.js';

/** Adds the records of a run that neither begin nor end until `moment`. */
export function addLasting(runs: RecordRun[], { page, from, to }: RecordRun, moment: number): void {
  let start = from;
  if (page.nextMoment <= moment)
    for (let index = from; index < to; index++)
      if (page.nextMomentOf(index) <= moment) {
        addRun(runs, { page, from: start, to: index });
        start = index + 1;
      }
  addRun(runs, { page, from: start, to });
}

export function addRun(runs: RecordRun[], run: RecordRun): void {
  if (run.from === run.to) return;
  const last = runs.at(-1);
  if (last?.page === run.page && last.to === run.from)
    runs.splice(-1, 1, { page: run.page, from: last.from, to: run.to });
  else runs.push(run);
}

/** The records of a page that are in force at `moment`, and those that begin later. */
export function split(
  page: RecordPage,
  moment: number,
): Record<'inForce' | 'toCome', RecordPage[]> {
  if (page.nextMoment === Infinity) return { inForce: [page], toCome: [] };
  const [inForce, toCome]: [RecordRun[], RecordRun[]] = [[], []];
  for (let index = 0; index < page.count; index++) {
    const { from, until } = page.validityOf(index);
    if (until > moment)
      addRun(from > moment ? toCome : inForce, { page, from: index, to: index + 1 });
  }
  return { inForce: [...pagesOf(inForce, moment)], toCome: [...pagesOf(toCome, moment)] };
}

/** Copies the runs to one page, or to several pages of equal size if one would be more than twice as large as a page. */
export function* pagesOf(runs: readonly RecordRun[], moment: number): Generator<RecordPage> {
  const count = runs.reduce((sum, { from, to }) => sum + to - from, 0);
  const size = count > 2 * PAGE ? Math.ceil(count / Math.ceil(count / PAGE)) : count;
  let part: RecordRun[] = [];
  let room = size;
  for (const { page, from, to } of runs) {
    for (let start = from, end; start < to; start = end) {
      end = Math.min(to, start + room);
      part.push({ page, from: start, to: end });
      room -= end - start;
      if (room > 0) continue;
      yield RecordPage.ofRuns(part, moment);
      part = [];
      room = size;
    }
  }
  if (part.length > 0) yield RecordPage.ofRuns(part, moment);
}
