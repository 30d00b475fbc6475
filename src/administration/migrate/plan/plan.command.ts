import { Command } from 'commander';
import { print, printJson } from '../../cli/program.js';
import { describeMissing } from '../migration-state.js';
import { describePlan } from './describe-plan.js';
import { type Plan, planUp } from './make-plan.js';

interface PlanOptions {
  readonly full?: boolean;
  readonly json?: true;
}

export const plan = new Command('plan')
  .description('shows what callers would see change; status 2 where it can break clients')
  .option('--full', 'every line')
  .option('--json', 'for programs')
  .action(async ({ full = false, json }: PlanOptions) => {
    const found = await planUp();
    if (json) printJson(found);
    else print(describeWhole(found, full).join('\n'));
    if (found.canBreakClients) process.exitCode = 2;
  });

function describeWhole(found: Plan, isFull: boolean): string[] {
  if (found.migrations.length === 0) return ['No migration is pending.', ...describeMissing(found)];
  return describePlan(found, { isFull });
}
