import { AdministrationError, command } from '../../frame/command.js';
import { connect } from '../../frame/connect.js';
import { canBreakClients, describePlan, planInMarkdown } from '../plan/describe-plan.js';
import { planSteps } from '../plan/plan-migrations.js';
import { MIGRATIONS } from '../read-migrations.js';
import { stepsUp } from '../steps.js';

export const plan = command({
  usage: '[--notice DAYS] [--json | --markdown]',
  summary:
    'shows what callers would see change, and changes nothing; status 2 where it can break clients, as does an end that is less than DAYS (30) away',
  options: {
    json: { type: 'boolean' },
    markdown: { type: 'boolean' },
    notice: { type: 'string', default: '30' },
  },
  run: async ({ markdown, notice }) => {
    if (!/^\d{1,4}$/.test(notice))
      throw new AdministrationError(`--notice is "${notice}": a number of days is needed.`);
    const planned = await planSteps(connect, await stepsUp(MIGRATIONS), Number(notice));
    const found = canBreakClients(planned);
    const { migrations, changes } = planned;
    return {
      text: markdown ? planInMarkdown(planned) : describePlan(planned),
      json: { migrations, canBreakClients: found, changes },
      found,
    };
  },
});
