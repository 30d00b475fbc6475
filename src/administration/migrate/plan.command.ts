import { Command } from 'commander';
import { print, printJson } from '../cli/program.js';
import { describePlan } from './describe-plan.js';
import { planUp } from './plan.js';

interface PlanOptions {
  readonly full?: boolean;
  readonly json?: boolean;
}

export const plan = new Command('plan')
  .description('shows the changes that callers would see; status 2 if they can break clients')
  .option('--full', 'show every line')
  .option('--json', 'print JSON for programs')
  .action(async ({ full = false, json = false }: PlanOptions) => {
    const found = await planUp();
    if (json) printJson(found);
    else print(describePlan(found, { isFull: full }).join('\n'));
    if (found.canBreakClients) process.exitCode = 2;
  });
