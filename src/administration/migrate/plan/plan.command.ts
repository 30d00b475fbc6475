import { FLAG, command } from '../../frame/command.js';
import { pendingOf } from '../applied-migrations.js';
import type { Change } from './changes.js';
import { type Plan, planMigrations } from './plan-migrations.js';

const SIGNS = { added: '+', removed: '-', moved: '↕', changed: '~' };
/** How many changes are shown. */
const SHOWN = 1_000;

export const plan = command({
  usage: '[--json]',
  summary:
    'shows what callers would see change, and changes nothing; status 2 where it can break clients',
  options: { json: FLAG },
  run: async () => {
    const planned = await planMigrations('up', pendingOf);
    const { migrations, canBreakClients: found, wayBack } = planned;
    const lines = [
      `Pending: ${migrations.join(', ')}`,
      ...describeEffects(planned),
      ...wayBack.map((said) => `\nThe way back: ${said}.`),
      '',
      found ? 'WARNING: this can break clients (lines with "!").' : 'Nothing here breaks clients.',
      'Nothing was changed: this was a plan.',
    ];
    const text = migrations.length > 0 ? lines.join('\n') : 'No migration is pending.';
    return { text, json: planned, found };
  },
});

/** Lines, moment by moment and area by area. */
export function describeEffects({ changes, refusals }: Plan): string[] {
  const lines: string[] = [];
  let group = '';
  for (const change of changes.slice(0, SHOWN)) {
    const title = change.at ? `at ${change.at}, ${change.area}` : change.area;
    if (title !== group) lines.push('', (group = title));
    lines.push(describeChange(change));
  }
  if (changes.length > SHOWN) lines.push('', `… and ${changes.length - SHOWN} more`);
  if (changes.length + refusals.length === 0) lines.push('', 'Callers see no difference.');
  if (refusals.length > 0) lines.push('', ...refusals.map((said) => `! ${said}`));
  return lines;
}

function describeChange(change: Change): string {
  const { kind, what, property, name, description, former, after, withdrawn, breaks } = change;
  const texts = [former, description].flatMap((text) => (text ? JSON.stringify(text) : []));
  return [
    breaks ? '  !' : '   ',
    SIGNS[kind],
    what,
    property ? `${property}: ${name}` : texts.length > 0 ? `${name}: ${texts.join(' → ')}` : name,
    withdrawn ? `no longer ${kind}` : kind,
    ...(after === undefined ? [] : [after === null ? 'at the beginning' : `after ${after}`]),
    ...(breaks ? [`(${breaks})`] : []),
  ].join(' ');
}
