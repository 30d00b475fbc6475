// Describes a plan to people: pending migrations, totals, refusals, the first changes of each list, and marks. The type
// Plan says what refusals and marks are.
import { groupBy } from '../../lookups/group-by.js';
import { showInvisible } from '../cli/invisible-characters.js';
import { type Change, formatPlace } from './code-changes.js';
import type { Plan } from './plan.js';
import { describeMissing } from './migration-state.js';

export interface Extent {
  /** True if all lines are shown, at full length. */
  readonly isFull: boolean;
}

/** The limit for the lines of each list, for the refusals, and for the marks. */
const MAX_LINES = 20;
const MAX_LINE_CHARACTERS = 200;

const SIGNS = { added: '+', removed: '-', changed: '~', 'order changed': '↕' };

export function describePlan(plan: Plan, extent: Extent): string[] {
  if (plan.migrations.length === 0) return ['No migration is pending.', ...describeMissing(plan)];
  const pending = shorten(`Pending: ${plan.migrations.join(', ')}`, extent);
  const conclusion = plan.canBreakClients
    ? 'WARNING: this can break clients (lines with "!").'
    : 'Nothing here breaks clients.';
  return [
    pending,
    ...describeMissing(plan),
    ...describeEffects(plan, extent),
    '',
    conclusion,
    'Nothing was changed: this was a plan.',
  ];
}

export function describeEffects(plan: Plan, extent: Extent): string[] {
  const { changes, refusals, marks } = plan;
  const lines = ['', countChanges(plan)];
  if (refusals.length > 0) {
    const refused = refusals.map((refusal) => showInvisible(`! ${refusal}`));
    lines.push('', ...selectFirst(refused, extent, ''));
  }
  for (const [title, ofList] of groupBy(changes, formatPlace)) {
    lines.push('', showInvisible(title), ...selectFirst(sortByDanger(ofList).map(describeChange), extent, '    '));
  }
  if (marks.length > 0) lines.push('', 'Is this meant?', ...selectFirst(marks, extent, ''));
  return lines;
}

function countChanges({ changes, refusals }: Plan): string {
  if (changes.length === 0) {
    return refusals.length === 0 ? 'Callers see no difference.' : 'This can break clients:';
  }
  const kinds = [...groupBy(changes, ({ kind }) => kind)];
  const totals = kinds.map(([kind, ofKind]) => `${ofKind.length} ${kind}`).join(', ');
  const breaking = changes.filter(({ breaks }) => breaks !== undefined).length;
  const breakingTotal = breaking === 0 ? '' : `; ${breaking} can break clients`;
  const count = changes.length === 1 ? '1 change' : `${changes.length} changes`;
  return `Callers see ${count}: ${totals}${breakingTotal}.`;
}

/** Puts changes that can break clients first, because the last lines of a long list are left out. */
function sortByDanger(changes: readonly Change[]): Change[] {
  return changes.toSorted((one, other) => Number(one.breaks === undefined) - Number(other.breaks === undefined));
}

/** Returns the line of a change. A new order of values may be long, so it is the last part: `shorten` cuts the end. */
function describeChange(change: Change): string {
  const { kind, withdrawn: isWithdrawn = false, breaks: danger, at, order } = change;
  const words: string[] = [SIGNS[kind]];
  if (order === undefined) words.push(describeSubject(change));
  if (isWithdrawn) words.push('no longer');
  words.push(kind);
  if (at !== undefined) words.push(`at ${at}`);
  if (danger !== undefined) words.push(`(${danger})`);
  const indent = danger === undefined ? '    ' : '  ! ';
  const end = order === undefined ? '' : `: ${order.join(', ')}`;
  return showInvisible(`${indent}${words.join(' ')}${end}`);
}

/** Returns the name of a property, value or record. The fields of a record follow: all, or only those that changed. */
function describeSubject({ name = '', fields = {}, former }: Change): string {
  const parts = [name];
  for (const field of Object.keys({ ...former, ...fields })) {
    const before = former?.[field];
    const after = fields[field];
    if (before === after) continue;
    const texts = former ? [before, after] : [after];
    parts.push(`${field} ${texts.map(formatField).join(' → ')}`);
  }
  return parts.join(', ');
}

function formatField(text: string | undefined): string {
  return text === undefined ? 'nothing' : JSON.stringify(text);
}

/** Returns the first lines, and a last line such as "… and 5 more (--full)". */
function selectFirst(lines: readonly string[], extent: Extent, indent: string): string[] {
  if (extent.isFull) return [...lines];
  const shown = lines.slice(0, MAX_LINES).map((line) => shorten(line, extent));
  const leftOut = lines.length - shown.length;
  return leftOut === 0 ? shown : [...shown, `${indent}… and ${leftOut} more (--full)`];
}

function shorten(line: string, { isFull }: Extent): string {
  const characters = Array.from(line);
  if (isFull || characters.length <= MAX_LINE_CHARACTERS) return line;
  return `${characters.slice(0, MAX_LINE_CHARACTERS).join('')}…`;
}
