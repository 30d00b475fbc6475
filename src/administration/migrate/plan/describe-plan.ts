import type { Change } from './changes.js';
import { type Plan, canBreakClients } from './plan-migrations.js';

const SIGNS = { added: '+', removed: '-', renamed: '~', moved: '↕', changed: '~' } as const;
/** How many changes are shown. */
const SHOWN = 1_000;

/** The plan as text for people. */
export function describePlan(plan: Plan): string {
  if (plan.migrations.length === 0) return 'No migration is pending.';
  return [
    `Pending: ${plan.migrations.join(', ')}`,
    ...describeEffects(plan),
    ...plan.wayBack.map((said) => `\nThe way back: ${said}.`),
    '',
    canBreakClients(plan)
      ? 'WARNING: this can break clients (lines with "!").'
      : 'Nothing here breaks clients.',
    'Nothing was changed: this was a plan.',
  ].join('\n');
}

/** Lines, moment by moment and area by area. */
export function describeEffects({ changes, refusals, keys }: Plan): string[] {
  const lines: string[] = [];
  let group = '';
  for (const change of changes.slice(0, SHOWN)) {
    const title = change.at ? `at ${change.at}, ${change.area}` : change.area;
    if (title !== group) lines.push('', (group = title));
    lines.push(`  ${describeChange(change)}`);
  }
  if (changes.length > SHOWN) lines.push('', `… and ${changes.length - SHOWN} more`);
  if (changes.length === 0 && refusals.length === 0) lines.push('', 'Callers see no difference.');
  if (refusals.length > 0) lines.push('', ...refusals.map((said) => `! ${said}`));
  if (keys.before !== keys.after || keys.lost.length > 0)
    lines.push('', `API keys in force: ${keys.before} → ${keys.after}`);
  if (keys.lost.length > 0)
    lines.push(
      `! callers will be refused: keys of ${keys.lost.slice(0, 20).join(', ')}${keys.lost.length > 20 ? ', …' : ''}`,
    );
  return lines;
}

function describeChange(change: Change): string {
  const { kind, withdrawn, breaks } = change;
  const done = withdrawn ? `no longer ${kind}` : kind;
  return `${breaks ? '!' : ' '} ${SIGNS[kind]} ${subjectOf(change)} ${done}${placeOf(change)}${breaks ? ` (${breaks})` : ''}`;
}

function placeOf(change: Change): string {
  if (!('after' in change) || change.after === undefined) return '';
  return change.after === null ? ' at the beginning' : ` after ${change.after}`;
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
  return `${what} ${property}${name}${change.to === undefined ? '' : ` → ${change.to}`}`;
}
