import { Command, InvalidArgumentError } from 'commander';
import type { Database } from '../../database/database.js';
import { isAgreed } from '../cli/ask.js';
import { OperatorError } from '../../telemetry/error-message.js';
import { describeTarget, withDatabase } from '../cli/connection.js';
import { type ProgramIo, print } from '../cli/program.js';
import { describeEffects } from './describe-plan.js';
import { type MigrationState, describeMissing } from './migration-state.js';
import { type Plan, planDown } from './plan.js';
import { undo } from './run-migrations.js';

const COUNT = /^[1-9]\d{0,3}$/; // such as 1 or 9999. If you change the limit, change the two messages below

const CLOCK_SET_BACK =
  "The server's clock was set back between two migrations, so node-pg-migrate would undo other migrations than the " +
  'last ones. Nothing was undone. To correct the times, run as the owner: update pgmigrations as one ' +
  'set run_on = (select max(run_on) from pgmigrations where id <= one.id);';

interface DownOptions {
  readonly yes?: boolean;
  readonly full?: boolean;
}

export function createDown(io: ProgramIo): Command {
  return new Command('down')
    .description(
      'undoes the last migration, or the last COUNT migrations; first it shows what callers would see, and asks',
    )
    .argument('[COUNT]', 'from 1 to 9999', parseCount, 1)
    .option('--yes', 'do not ask; needed without a terminal')
    .option('--full', 'show every line')
    .action((count: number, options: DownOptions) =>
      withDatabase((database) => undoLast(io, database, count, options), io.env),
    );
}

async function undoLast(io: ProgramIo, database: Database, count: number, options: DownOptions): Promise<void> {
  const { yes: isYesGiven = false, full: isFull = false } = options;
  const plan = await planDown(database, (state) => selectLast(state, count));
  if (plan.migrations.length === 0) {
    print(io, 'Nothing to do.');
    return;
  }
  showPlan(io, plan, isFull);
  const { stdin: input, stdout: output } = io;
  const isConfirmed = isYesGiven || (await isAgreed('Undo this? (yes or no) ', { input, output }));
  if (!isConfirmed) throw new OperatorError('Nothing was undone. Without a terminal, add --yes.');
  await undo(database, plan.migrations, (name) => print(io, `undone  ${name}`));
}

function parseCount(text: string): number {
  if (COUNT.test(text)) return Number(text);
  throw new InvalidArgumentError('Write a number from 1 to 9999, or no number to undo one migration.');
}

/** Returns the last migrations, the newest first. */
function selectLast(state: MigrationState, count: number): readonly string[] {
  const names = state.applied.slice(-count).toReversed();
  if (names.some((name) => state.missing.includes(name))) {
    const reasons = describeMissing(state).join('\n');
    throw new OperatorError(`A migration can be undone only with its file.\n${reasons}`);
  }
  const namesByTime = state.appliedByTime.slice(-count).toReversed();
  if (names.join() !== namesByTime.join()) throw new OperatorError(CLOCK_SET_BACK);
  return names;
}

function showPlan(io: ProgramIo, plan: Plan, isFull: boolean): void {
  const title = `To undo in ${describeTarget(io.env)}: ${plan.migrations.join(', ')}`;
  const lines = [title, ...describeEffects(plan, { isFull })];
  print(io, `${lines.join('\n')}\n`); // an empty line before the question or the outcome
}
