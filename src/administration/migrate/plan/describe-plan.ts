import type { Change } from './changes.js';
import type { Plan } from './plan-migrations.js';
import { groupBy } from '../../../codes/group-by.js';

const SIGNS = { added: '+', removed: '-', renamed: '~', moved: '↕', changed: '~' } as const;
const DAY_MS = 86_400_000;

/** Why a change can break clients, or undefined if it cannot. A removal that is announced early enough does not count. */
function dangerOf(
  { kind, at, withdrawn }: Change,
  { now, noticeDays }: Pick<Plan, 'now' | 'noticeDays'>,
): string | undefined {
  if (withdrawn) return undefined;
  const days = at === undefined ? 0 : Math.floor((Date.parse(at) - now) / DAY_MS);
  if (at !== undefined && kind !== 'added' && days < noticeDays)
    return `in ${days} day${days === 1 ? '' : 's'}: the notice is ${noticeDays}`;
  if (at !== undefined) return undefined;
  if (kind === 'removed') return 'orders and clients may still hold it';
  if (kind === 'renamed') return 'for clients the old one is gone';
  return kind === 'moved' ? 'clients that go by position read another one' : undefined;
}

export const canBreakClients = (plan: Plan): boolean =>
  plan.changes.some((change) => dangerOf(change, plan) !== undefined);

/** The plan as text for people. */
export function describePlan(plan: Plan): string {
  if (plan.migrations.length === 0) return 'No migration is pending.';
  return [
    `Pending: ${plan.migrations.join(', ')}`,
    ...describeChanges(plan),
    '',
    canBreakClients(plan)
      ? 'WARNING: this can break clients (lines with "!").'
      : 'Nothing here breaks clients.',
    'Nothing was changed: this was a plan.',
  ].join('\n');
}

/** The plan as a comment for a pull request. */
export function planInMarkdown(plan: Plan): string {
  if (plan.migrations.length === 0) return 'No migration is pending.';
  const lines = describeChanges(plan).map((line) => line.replace(/^ {2}(! | {2})/, '$1').trimEnd());
  const marked = lines.map((line) => line.replace(/^ {2}(?=[-+~↕] )/, ''));
  // A description may itself contain a code fence
  const longest = Math.max(2, ...[...marked.join('\n').matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return [
    `### Plan: ${canBreakClients(plan) ? '⚠️ this can break clients' : 'nothing here breaks clients'}`,
    '',
    ...plan.migrations.map((name) => `- \`${name}\``),
    '',
    `${fence}diff`,
    ...marked.slice(1),
    fence,
  ].join('\n');
}

/** Lines, moment by moment and area by area. */
export function describeChanges(plan: Plan): string[] {
  if (plan.changes.length === 0) return ['', 'Callers see no difference.'];
  const groups = groupBy(plan.changes, ({ at, area }) => (at ? `at ${at}, ${area}` : area));
  return [...groups].flatMap(([group, changes]) => [
    '',
    group,
    ...changes.map((change) => `  ${describeChange(change, plan)}`),
  ]);
}

function describeChange(change: Change, plan: Plan): string {
  const danger = dangerOf(change, plan);
  const { kind, withdrawn } = change;
  const done = withdrawn ? `no longer ${kind}` : kind;
  return `${danger ? '!' : ' '} ${SIGNS[kind]} ${subjectOf(change)} ${done}${danger ? ` (${danger})` : ''}`;
}

function subjectOf(change: Change): string {
  if (change.what === 'record') {
    const { codeType, code, description, former } = change;
    const meaning = (former === undefined ? [description] : [former, description])
      .map((text) => JSON.stringify(text))
      .join(' → ');
    return `record codeType ${JSON.stringify(codeType)}, code ${JSON.stringify(code)}: ${meaning}`;
  }
  const { what, name } = change;
  const property = what === 'value' ? `${change.property}: ` : '';
  return `${what} ${property}${name}${'to' in change ? ` → ${change.to}` : ''}`;
}
