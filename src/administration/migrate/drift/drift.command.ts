import type { Client } from 'pg';
import { type Outcome, TEXT, command } from '../../frame/command.js';
import { withReading } from '../../frame/connect.js';
import { momentOf } from '../../frame/time.js';
import { type Subject, countDrift, readDrift } from './recorded-drift.js';

/** Nobody reads more, and the command has to stay within the memory of a small container. */
const MAX_SHOWN_CHANGES = 1_000;

const SUMMARY = `shows the changes of codes that no migration made since DATE (90 days ago), and by whom, until a migration
      has written the same rows. Status 2 where there is one. Changes of API keys are shown apart, and are no drift`;

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
  const ofCodes = await changeLines(client, 'codes', sinceTime);
  const ofKeys = await changeLines(client, 'keys', sinceTime);
  const lines = ofCodes.length > 0 ? ofCodes : ['Only migrations changed codes.'];
  if (ofKeys.length > 0) lines.push('', 'Changes of API keys, by login and program:', ...ofKeys);
  return { text: lines.join('\n'), status: ofCodes.length > 0 ? 2 : 0 };
}

async function changeLines(client: Client, subject: Subject, sinceTime: string | undefined): Promise<string[]> {
  const lines = await readDrift(client, subject, { sinceTime, limit: MAX_SHOWN_CHANGES });
  if (lines.length === MAX_SHOWN_CHANGES) {
    const others = (await countDrift(client, subject, sinceTime)) - lines.length;
    if (others > 0) lines.push(`… and ${others} later changes. To see them: --since`);
  }
  return lines;
}
