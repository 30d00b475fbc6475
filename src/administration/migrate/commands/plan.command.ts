import { command } from '../../frame/command.js';
import { MIGRATIONS, readMigrations } from '../migration-files.js';
import { describePlan } from '../plan/describe-plan.js';
import { canBreakClients, planSteps } from '../plan/plan-migrations.js';
import { stepsUp } from '../run-migrations.js';

export const plan = command({
  usage: '[--json]',
  summary:
    'shows what callers would see change, and changes nothing; status 2 where it can break clients',
  options: { json: { type: 'boolean' } },
  run: async () => {
    const planned = await planSteps(MIGRATIONS, await readMigrations(MIGRATIONS), stepsUp);
    const found = canBreakClients(planned);
    return { text: describePlan(planned), json: { ...planned, canBreakClients: found }, found };
  },
});
