import { command } from '../../frame/command.js';
import { connect } from '../../frame/connect.js';
import { canBreakClients, describePlan } from '../plan/describe-plan.js';
import { planMigrations } from '../plan/plan-migrations.js';
import { MIGRATIONS } from '../read-migrations.js';

export const plan = command({
  usage: '[--json]',
  summary:
    'shows what callers would see change, and changes nothing; status 2 where it can break clients',
  options: { json: { type: 'boolean' } },
  run: async () => {
    const { migrations, changes } = await planMigrations(MIGRATIONS, () => connect());
    return {
      text: describePlan({ migrations, changes }),
      json: { migrations, changes },
      found: canBreakClients(changes),
    };
  },
});
