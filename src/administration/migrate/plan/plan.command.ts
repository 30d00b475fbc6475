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
    const json = await planUp();
    if (json.migrations.length === 0) {
      const lines = ['No migration is pending.', ...describeMissing(json)];
      return { text: lines.join('\n'), json };
    }
    const lines = describePlan(json, { isFull: full });
    return { text: lines.join('\n'), json, status: json.canBreakClients ? 2 : 0 };
  },
});
