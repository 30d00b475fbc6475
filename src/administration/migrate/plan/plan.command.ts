import { FLAG, type Outcome, command } from '../../frame/command.js';
import { describeMissing } from '../migration-state.js';
import { describePlan } from './describe-plan.js';
import { planUp } from './make-plan.js';

export const plan = command({
  usage: '[--full] [--json]',
  summary:
    'shows what callers would see change; status 2 where it can break clients; ' +
    'with --full every line, with --json for programs',
  options: { full: FLAG, json: FLAG },
  run: async ({ full = false }): Promise<Outcome> => {
    const found = await planUp();
    if (found.migrations.length === 0) {
      const lines = ['No migration is pending.', ...describeMissing(found)];
      return { text: lines.join('\n'), json: found };
    }
    const lines = describePlan(found, { isFull: full });
    return { text: lines.join('\n'), json: found, status: found.canBreakClients ? 2 : 0 };
  },
});
