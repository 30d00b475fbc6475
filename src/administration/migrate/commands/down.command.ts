import { AdministrationError, command } from '../../frame/command.js';
import { connect } from '../../frame/connect.js';
import { describeChanges } from '../plan/describe-plan.js';
import { type Plan, planSteps } from '../plan/plan-migrations.js';
import { MIGRATIONS } from '../read-migrations.js';
import { undoMigrations } from '../run-migrations.js';
import { stepsDown } from '../steps.js';

export const down = command({
  usage: '[COUNT] [--yes]',
  summary:
    'shows what it undoes, and undoes the last migration, or the last COUNT; where keys or the record of changes would go, and with NODE_ENV=production, only with --yes',
  operands: [0, 1],
  options: { yes: { type: 'boolean' } },
  run: async ({ yes }, [count = '1']) => {
    if (!/^[1-9]\d{0,3}$/.test(count))
      throw new AdministrationError(
        `"${count}" is not a number of migrations to undo: 1 or more is needed.`,
      );
    const plan = await planSteps(connect, await stepsDown(MIGRATIONS, Number(count)));
    if (plan.migrations.length === 0) return { text: 'Nothing to do.' };
    process.stdout.write(`${describeUndoing(plan)}\n\n`);
    const reason =
      plan.lost.length > 0
        ? `the table${plan.lost.length > 1 ? 's' : ''} ${plan.lost.join(' and ')} would be lost`
        : process.env['NODE_ENV'] === 'production' && 'NODE_ENV is production';
    if (reason && !yes)
      throw new AdministrationError(
        `Nothing was undone, since ${reason}. To do it nevertheless, add --yes`,
      );
    const undone = await undoMigrations(MIGRATIONS, connect, Number(count), plan.migrations);
    return { text: undone.map((name) => `undone  ${name}`).join('\n') };
  },
});

const describeUndoing = (plan: Plan): string =>
  [`To undo: ${plan.migrations.join(', ')}`, ...describeChanges(plan)].join('\n');
