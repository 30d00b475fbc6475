import { Command } from 'commander';
import { UnservableRows } from '../../lookups/code-rows.js';
import { readCodes } from '../../lookups/read-codes.js';
import { messageOf } from '../../telemetry/error-message.js';
import { commandLine, print } from '../cli/program.js';
import { withReading } from '../cli/transaction.js';
import { countDrift } from './drift/recorded-drift.js';
import { describeMissing, readState } from './migration-state.js';
import { applyPending } from './run-migrations.js';

export const up = new Command('up').description('applies the migrations that are pending').action(async () => {
  const names = await applyPending();
  const lines = names.map((name) => `applied  ${name}`);
  if (names.length === 0) lines.push('Nothing to do.');
  lines.push(...(await remarksAfter()));
  print(lines.join('\n'));
});

/** What there is to say about the database afterwards. Nothing of it fails the command: the migrations are applied. */
async function remarksAfter(): Promise<string[]> {
  return [
    ...(await tryToLook('What is applied could not be looked at', remarkOnMissing)),
    ...(await tryToLook('The codes could not be looked at', remarkOnCodes)),
    ...(await tryToLook('Drift could not be looked for', remarkOnDrift)),
  ];
}

async function tryToLook(failure: string, look: () => Promise<string[]>): Promise<string[]> {
  try {
    return await look();
  } catch (error) {
    return [withFullStop(`${failure}: ${messageOf(error)}`)];
  }
}

async function remarkOnMissing(): Promise<string[]> {
  return describeMissing(await withReading(readState));
}

async function remarkOnCodes(): Promise<string[]> {
  try {
    await withReading((_session, manager) => readCodes(manager));
    return [];
  } catch (error) {
    if (!(error instanceof UnservableRows)) throw error;
    return [withFullStop(`The codes in the database cannot be served: ${error.message}`)];
  }
}

async function remarkOnDrift(): Promise<string[]> {
  const count = await withReading((session) => countDrift(session, 'codes'));
  if (count === 0) return [];
  return [`There is drift (${count}): a change by hand. See: ${commandLine('migrate', 'drift')}`];
}

function withFullStop(text: string): string {
  return text.endsWith('.') ? text : `${text}.`;
}
