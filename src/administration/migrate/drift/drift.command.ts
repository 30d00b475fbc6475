import type { Client } from 'pg';
import { objectFaults } from '../../../database/objects.js';
import { type Outcome, TEXT, command } from '../../frame/command.js';
import { withReading } from '../../frame/connect.js';
import { momentOf } from '../../frame/time.js';
import { createMigration } from '../create-migration.js';
import { readState } from '../migration-state.js';
import { withRehearsal } from '../rehearsal.js';
import { driftMigration } from './drift-migration.js';
import { countDrift, readDrift } from './recorded-drift.js';

/** Nobody reads more, and the command has to stay within the memory of a small container. */
const MAX_SHOWN_CHANGES = 1_000;

const SUMMARY = `shows what was changed by anything but migrations and the key commands since DATE (90 days ago), and by
      whom, until a migration has written the same rows; and objects that are not what the migrations made, with the
      statements that mend them. Status 2 where there is something. With --to-migration it writes the migration that
      these changes should have been`;

export const drift = command({
  usage: '[--since DATE] [--to-migration NAME]',
  summary: SUMMARY,
  options: { since: TEXT, 'to-migration': TEXT },
  run: async ({ since, 'to-migration': migrationName }) => {
    const sinceTime = since === undefined ? undefined : momentOf('--since', since);
    if (migrationName === undefined) return withReading((client) => showDrift(client, sinceTime));
    // With the pending files, so that the same rows are not written twice
    const text = await withRehearsal((client) => driftMigration(client, sinceTime));
    return createMigration(migrationName, text);
  },
});

async function showDrift(client: Client, sinceTime: string | undefined): Promise<Outcome> {
  const changes = await changeLines(client, sinceTime);
  const objects = await objectLines(client);
  const lines = [...changes, ...objects];
  if (lines.length === 0) return { text: 'Only migrations and the key commands changed something.' };
  return { text: lines.join('\n'), status: 2 };
}

/** How many changes and objects `drift` would show. PostgreSQL counts the changes, however many there are. */
export async function countAllDrift(client: Client): Promise<number> {
  const changes = await countDrift(client);
  const objects = await objectLines(client);
  return changes + objects.length;
}

async function changeLines(client: Client, sinceTime: string | undefined): Promise<string[]> {
  const changes = await readDrift(client, { sinceTime, limit: MAX_SHOWN_CHANGES });
  const lines = changes.map(({ line }) => line);
  if (changes.length === MAX_SHOWN_CHANGES) {
    const others = (await countDrift(client, sinceTime)) - changes.length;
    if (others > 0) lines.push(`… and ${others} later changes. To see them: --since`);
  }
  return lines;
}

/** Of objects nothing is said where files that are not here may have made others. */
async function objectLines(client: Client): Promise<string[]> {
  const { missing } = await readState(client);
  if (missing.length > 0) return [];
  const faults = await objectFaults(client);
  return faults.map(({ name, fault, remedy }) => `${name} ${fault}. As the owner: ${remedy}`);
}
