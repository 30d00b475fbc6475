import type { Change } from './compare-answers.js';
import type { Plan } from './plan-migrations.js';

const SIGNS = { added: '+', removed: '-', renamed: '~', moved: '↕', changed: '~' } as const;
const DANGERS: Partial<Record<Change['kind'], string>> = {
  removed: 'orders and clients may still hold it',
  renamed: 'for clients the old one is gone',
  moved: 'clients that go by position read another one',
};

export const canBreakClients = (changes: readonly Change[]): boolean =>
  changes.some(({ kind }) => kind in DANGERS);

/** What callers would see change, for people. */
export function describePlan({
  migrations,
  changes,
}: Pick<Plan, 'migrations' | 'changes'>): string {
  if (migrations.length === 0) return 'No migration is pending.';
  return [
    `Pending: ${migrations.join(', ')}`,
    ...describeChanges(changes),
    '',
    canBreakClients(changes)
      ? 'WARNING: this can break clients (lines with "!").'
      : 'Nothing here breaks clients.',
    'Nothing was changed: this was a plan.',
  ].join('\n');
}

/** Lines, area by area. */
export function describeChanges(changes: readonly Change[]): string[] {
  if (changes.length === 0) return ['', 'Callers see no difference.'];
  return [...new Set(changes.map(({ area }) => area))].flatMap((area) => [
    '',
    area,
    ...changes
      .filter((change) => change.area === area)
      .map((change) => `  ${describeChange(change)}`),
  ]);
}

function describeChange({ kind, what, property, name, to }: Change): string {
  const subject = `${what} ${property ? `${property}: ` : ''}${name}${to === undefined ? '' : ` → ${to}`}`;
  const danger = DANGERS[kind];
  return `${danger ? '!' : ' '} ${SIGNS[kind]} ${subject} ${kind}${danger ? ` (${danger})` : ''}`;
}
