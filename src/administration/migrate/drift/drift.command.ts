import type { Client } from 'pg';
import { type Outcome, TEXT, command } from '../../frame/command.js';
import { withReading } from '../../frame/connect.js';
import { momentOf } from '../../frame/time.js';
import { createMigration } from '../create-migration.js';
import { withRehearsal } from '../rehearsal.js';
import { driftMigration } from './drift-migration.js';
import { countDrift, readDrift } from './recorded-drift.js';

/** Nobody reads more, and the command has to stay within the memory of a small container. */
const MAX_SHOWN_CHANGES = 1_000;

const SUMMARY = `shows what was changed by anything but migrations and the key commands since DATE (90 days ago), and by
      whom, until a migration has written the same rows. Status 2 where there is something. With --to-migration it writes the migration that
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
  const lines = await changeLines(client, sinceTime);
  if (lines.length === 0) return { text: 'Only migrations and the key commands changed something.' };
  return { text: lines.join('\n'), status: 2 };
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
