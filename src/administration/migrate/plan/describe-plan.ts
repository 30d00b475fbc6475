import type { Change } from './compare-answers.js';
import type { Plan } from './plan-migrations.js';

const SIGNS = { added: '+', removed: '-', renamed: '~', moved: '↕', changed: '~' } as const;
const DANGERS: Partial<Record<Change['kind'], string>> = {
  removed: 'orders and clients may still hold it',
  renamed: 'for clients the old one is gone',
  moved: 'clients that go by position read another one',
};

export const canBreakClients = ({ changes }: Plan): boolean =>
  changes.some(({ kind }) => kind in DANGERS);

/** What callers would see change, for people. */
export function describePlan({ migrations, changes }: Plan): string {
  if (migrations.length === 0) return 'No migration is pending.';
  const lines = [`Pending: ${migrations.join(', ')}`];
  for (const area of new Set(changes.map((change) => change.area))) {
    lines.push(
      '',
      area,
      ...changes
        .filter((change) => change.area === area)
        .map((change) => `  ${describeChange(change)}`),
    );
  }
  if (changes.length === 0) lines.push('', 'Callers see no difference.');
  lines.push(
    '',
    canBreakClients({ migrations, changes })
      ? 'WARNING: this can break clients (lines with "!").'
      : 'Nothing here breaks clients.',
    'Nothing was changed: this was a plan.',
  );
  return lines.join('\n');
}

function describeChange({ kind, what, property, name, to }: Change): string {
  const subject = `${what} ${property ? `${property}: ` : ''}${name}${to === undefined ? '' : ` → ${to}`}`;
  const danger = DANGERS[kind];
  return `${danger ? '!' : ' '} ${SIGNS[kind]} ${subject} ${kind}${danger ? ` (${danger})` : ''}`;
}
