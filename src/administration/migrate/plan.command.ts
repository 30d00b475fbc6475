import { Command } from 'commander';
import { print, printJson } from '../cli/program.js';
import { describePlan } from './describe-plan.js';
import { describeMissing } from './migration-state.js';
import { type Plan, planUp } from './plan.js';

interface PlanOptions {
  readonly full?: boolean;
  readonly json?: boolean;
}

export const plan = new Command('plan')
  .description('shows what callers would see change; status 2 where it can break clients')
  .option('--full', 'every line')
  .option('--json', 'for programs')
  .action(async ({ full = false, json = false }: PlanOptions) => {
    const found = await planUp();
    if (json) printJson(found);
    else print(describe(found, full).join('\n'));
    if (found.canBreakClients) process.exitCode = 2;
  });

function describe(found: Plan, isFull: boolean): string[] {
  const hasPending = found.migrations.length > 0;
  return hasPending ? describePlan(found, { isFull }) : ['No migration is pending.', ...describeMissing(found)];
}
