import { Command } from 'commander';
import { type ProgramIo, print, printJson } from '../cli/program.js';
import { describePlan } from './describe-plan.js';
import { planUp } from './plan.js';

interface PlanOptions {
  readonly full?: boolean;
  readonly json?: boolean;
}

export function createPlan(io: ProgramIo): Command {
  return new Command('plan')
    .description('shows the changes that callers would see; status 2 if they can break clients')
    .option('--full', 'show every line')
    .option('--json', 'print JSON for programs')
    .action(async ({ full = false, json = false }: PlanOptions) => {
      const plan = await planUp(io.env);
      if (json) printJson(io, plan);
      else print(io, describePlan(plan, { isFull: full }).join('\n'));
      if (plan.canBreakClients) io.exitCode = 2;
    });
}
