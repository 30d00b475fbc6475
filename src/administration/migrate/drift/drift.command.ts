import type { Client } from 'pg';
import { type Outcome, TEXT, command } from '../../frame/command.js';
import { withReading } from '../../frame/connect.js';
import { momentOf } from '../../frame/time.js';
import { countDrift, readDrift } from './recorded-drift.js';

/** Nobody reads more, and the command has to stay within the memory of a small container. */
const MAX_SHOWN_CHANGES = 1_000;

const SUMMARY = `shows what was changed by anything but migrations and the key commands since DATE (90 days ago), and by
      whom, until a migration has written the same rows. Status 2 where there is something`;

export const drift = command({
  usage: '[--since DATE]',
  summary: SUMMARY,
  options: { since: TEXT },
  run: async ({ since }) => {
    const sinceTime = since === undefined ? undefined : momentOf('--since', since);
    return withReading((client) => showDrift(client, sinceTime));
  },
});

async function showDrift(client: Client, sinceTime: string | undefined): Promise<Outcome> {
  const lines = await changeLines(client, sinceTime);
  if (lines.length === 0) return { text: 'Only migrations and the key commands changed something.' };
  return { text: lines.join('\n'), status: 2 };
}

async function changeLines(client: Client, sinceTime: string | undefined): Promise<string[]> {
  const lines = await readDrift(client, sinceTime, MAX_SHOWN_CHANGES);
  if (lines.length === MAX_SHOWN_CHANGES) {
    const others = (await countDrift(client, sinceTime)) - lines.length;
    if (others > 0) lines.push(`… and ${others} later changes. To see them: --since`);
  }
  return lines;
}
