import { readCodes } from '../../lookups/read-codes.js';
import { messageOf } from '../../telemetry/error-message.js';
import { command, typed } from '../frame/command.js';
import { withReading } from '../frame/connect.js';
import { countAllDrift } from './drift/drift.command.js';
import { describeMissing, readState } from './migration-state.js';
import { applyPending } from './run-migrations.js';

export const up = command({
  summary: 'applies the migrations that are pending',
  run: async () => {
    const names = await applyPending();
    const lines = names.map((name) => `applied  ${name}`);
    if (names.length === 0) lines.push('Nothing to do.');
    lines.push(...(await describeDatabase()));
    return { text: lines.join('\n') };
  },
});

/** What there is to say about the database afterwards. It fails nothing, since the migrations are applied. */
async function describeDatabase(): Promise<string[]> {
  const lines = describeMissing(await withReading(readState));
  try {
    await withReading((_session, manager) => readCodes(manager));
  } catch (error) {
    lines.push(`The codes in the database cannot be served: ${messageOf(error)}.`);
  }
  try {
    const count = await withReading(countAllDrift);
    if (count > 0) lines.push(driftLine(count));
  } catch (error) {
    lines.push(`Drift could not be looked for: ${messageOf(error)}.`);
  }
  return lines;
}

function driftLine(count: number): string {
  const what = 'a change by hand, or an object that is not what the migrations made';
  return `There is drift (${count}): ${what}. See: ${typed('migrate', 'drift')}`;
}
