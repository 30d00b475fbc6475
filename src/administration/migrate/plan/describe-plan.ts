// The plan as people read it: totals first, then what is refused, then the first lines of each list. Without `isFull`
// it fits into a comment of GitHub, which takes 65,536 characters, however much changes.
import { groupBy } from '../../../collections/group-by.js';
import { showInvisible } from '../../lists/characters.js';
import { describeMissing } from '../migration-state.js';
import { type Change, listTitleOf } from './changes/change.js';
import type { Plan } from './make-plan.js';

export interface Extent {
  /** All lines, each of them whole. */
  readonly isFull: boolean;
}

/** At most 250 lines of 200 characters, and as many that say how many more there are. */
const MAX_LINES_OF_LIST = 10;
const MAX_LINES = 150;
const MAX_SENTENCES = 25;
const MAX_LINE_CHARACTERS = 200;

const SIGNS = { added: '+', removed: '-', changed: '~', 'order changed': '↕' };

export function describePlan(plan: Plan, extent: Extent): string[] {
  const lines = [`Pending: ${firstOf(plan.migrations, extent).join(', ')}`];
  lines.push(...describeMissing(plan), ...describeEffects(plan, extent));
  lines.push('', verdictOf(plan), 'Nothing was changed: this was a plan.');
  return lines.map((line) => shortened(line, extent));
}

/** What callers would see, as `down` shows it, too. */
export function describeEffects(plan: Plan, extent: Extent): string[] {
  const { changes, refusals, warnings } = plan;
  const lines = ['', totalsOf(plan)];
  if (refusals.length > 0) {
    lines.push(
      '',
      ...firstOf(
        refusals.map((refusal) => `! ${refusal}`),
        extent,
      ),
    );
  }
  lines.push(...describeLists(changes, extent));
  if (warnings.length > 0) lines.push('', 'Is this meant?', ...firstOf(warnings, extent));
  return lines.map((line) => shortened(line, extent));
}

function totalsOf({ changes, refusals }: Plan): string {
  if (changes.length === 0) {
    return refusals.length === 0 ? 'Callers see no difference.' : 'Callers see this:';
  }
  const kinds = [...groupBy(changes, ({ kind }) => kind)];
  const totals = kinds.map(([kind, ofKind]) => `${ofKind.length} ${kind}`).join(', ');
  const breaking = changes.filter(({ breaks }) => breaks !== undefined).length;
  const danger = breaking === 0 ? '' : `; ${breaking} can break clients`;
  return `Callers see ${plural(changes.length, 'change')}: ${totals}${danger}.`;
}

function verdictOf({ canBreakClients }: Plan): string {
  if (!canBreakClients) return 'Nothing here breaks clients.';
  return 'WARNING: this can break clients (lines with "!").';
}

function describeLists(changes: readonly Change[], extent: Extent): string[] {
  const lines: string[] = [];
  let leftOut = 0;
  for (const [title, ofList] of groupBy(changes, listTitleOf)) {
    const isRoomLeft = extent.isFull || lines.length < MAX_LINES;
    if (isRoomLeft) lines.push('', title, ...describeList(ofList, extent));
    else leftOut += ofList.length;
  }
  if (leftOut > 0) lines.push('', `… and ${plural(leftOut, 'change')} of other lists (--full)`);
  return lines;
}

/** What can break clients comes first, so that it is never among the lines that are left out. */
function describeList(changes: readonly Change[], extent: Extent): string[] {
  const breaking = changes.filter(({ breaks }) => breaks !== undefined);
  const others = changes.filter(({ breaks }) => breaks === undefined);
  const shown = [...breaking, ...others];
  if (extent.isFull) return shown.map(describeChange);
  const lines = shown.slice(0, MAX_LINES_OF_LIST).map(describeChange);
  const leftOut = shown.length - lines.length;
  if (leftOut > 0) lines.push(`    … and ${leftOut} more (--full)`);
  return lines;
}

/** The new order comes last: it may be long, and be cut. */
function describeChange(change: Change): string {
  const { kind, withdrawn = false, breaks, at, order } = change;
  const words = [SIGNS[kind]];
  if (order === undefined) words.push(subjectOf(change));
  if (withdrawn) words.push('no longer');
  words.push(kind);
  if (at !== undefined) words.push(`at ${at}`);
  if (breaks !== undefined) words.push(`(${breaks})`);
  const text = words.join(' ');
  const mark = breaks === undefined ? '    ' : '  ! ';
  return mark + (order === undefined ? text : `${text}: ${showInvisible(order.join(', '))}`);
}

function subjectOf({ name = '', description, former }: Change): string {
  const texts = [former, description].filter((text) => text !== undefined);
  if (texts.length === 0) return showInvisible(name);
  const quoted = texts.map((text) => JSON.stringify(text)).join(' → ');
  return showInvisible(`${name}: ${quoted}`);
}

/** The first of many sentences, and how many more there are. */
function firstOf(sentences: readonly string[], { isFull }: Extent): string[] {
  if (isFull || sentences.length <= MAX_SENTENCES) return [...sentences];
  const leftOut = sentences.length - MAX_SENTENCES;
  return [...sentences.slice(0, MAX_SENTENCES), `… and ${leftOut} more (--full)`];
}

function shortened(line: string, { isFull }: Extent): string {
  const characters = Array.from(line);
  if (isFull || characters.length <= MAX_LINE_CHARACTERS) return line;
  return `${characters.slice(0, MAX_LINE_CHARACTERS).join('')}…`;
}

function plural(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`;
}
