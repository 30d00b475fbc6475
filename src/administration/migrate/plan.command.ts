import { Command } from 'commander';
import { print, printJson } from '../cli/program.js';
import { describePlan } from './describe-plan.js';
import { planUp } from './dry-run.js';
import { describeMissing } from './migration-state.js';

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
    const isNonePending = found.migrations.length === 0;
    const lines = isNonePending
      ? ['No migration is pending.', ...describeMissing(found)]
      : describePlan(found, { isFull: full });
    if (json) printJson(found);
    else print(lines.join('\n'));
    if (found.canBreakClients) process.exitCode = 2;
  });
