import { isAgreed } from '../frame/ask.js';
import { FLAG, command, refuse } from '../frame/command.js';
import { describeDatabase } from '../frame/connection-advice.js';
import { checkedConnectionString } from '../frame/connect.js';
import { type MigrationState, describeMissing } from './migration-state.js';
import { describeEffects } from './plan/describe-plan.js';
import { type Plan, planDown } from './plan/make-plan.js';
import { undo } from './run-migrations.js';

const COUNT = /^[1-9]\d{0,3}$/;

export const down = command({
  usage: '[COUNT] [--yes]',
  operands: { least: 0, most: 1 },
  summary:
    'shows what it undoes, asks, and undoes the last migration, or the last COUNT; ' +
    'where nobody can be asked it wants --yes',
  options: { yes: FLAG },
  run: async ({ yes = false }, [count = '1']) => {
    if (!COUNT.test(count)) {
      refuse(`"${count}" is no number of migrations to undo. Give one from 1 to 9999, or none for one.`);
    }
    const plan = await planDown((state) => lastOf(state, Number(count)));
    if (plan.migrations.length === 0) return { text: 'Nothing to do.' };
    showPlan(plan);
    const { stdin: input, stdout: output } = process;
    const isMeant = yes || (await isAgreed('Undo this? (yes or no) ', { input, output }));
    if (!isMeant) {
      refuse('Nothing was undone. Where nobody can be asked, add --yes.');
    }
    const undone = await undo(plan.migrations);
    return { text: undone.map((name) => `undone  ${name}`).join('\n') };
  },
});

/** The last ones, the newest first. */
function lastOf(state: MigrationState, count: number): readonly string[] {
  const names = state.applied.slice(-count).toReversed();
  if (names.some((name) => state.missing.includes(name))) {
    const reasons = describeMissing(state).join('\n');
    refuse(`Only a file that is here can be undone.\n${reasons}`);
  }
  return names;
}

function showPlan(plan: Plan): void {
  const database = describeDatabase(checkedConnectionString(process.env));
  const title = `To undo in ${database}: ${plan.migrations.join(', ')}`;
  const lines = [title, ...describeEffects(plan, { isFull: false })];
  process.stdout.write(`${lines.join('\n')}\n\n`); // an empty line before the question or the outcome
}
