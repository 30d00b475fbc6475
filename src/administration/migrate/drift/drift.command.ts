import { Command } from 'commander';
import type { Client } from 'pg';
import { print } from '../../cli/program.js';
import { parseMoment } from '../../cli/time.js';
import { withReading } from '../../cli/transaction.js';
import { type Subject, countDrift, readDrift } from './recorded-drift.js';

/** Nobody reads more, and the command has to stay within the memory of a small container. */
const MAX_SHOWN_CHANGES = 1_000;

const SUMMARY = `shows the changes of codes that no migration made, and by whom, until a migration has written the same
rows. Status 2 where there is one. Changes of API keys are shown apart, and are no drift`;

export const drift = new Command('drift')
  .description(SUMMARY)
  .option('--since <DATE>', 'changes from then on; 90 days without it', parseMoment)
  .action(({ since }: { since?: string }) => withReading((client) => showDrift(client, since)));

async function showDrift(client: Client, sinceTime: string | undefined): Promise<void> {
  const ofCodes = await changeLines(client, 'codes', sinceTime);
  const ofKeys = await changeLines(client, 'keys', sinceTime);
  const lines = ofCodes.length > 0 ? ofCodes : ['Only migrations changed codes.'];
  if (ofKeys.length > 0) lines.push('', 'Changes of API keys, by login and program:', ...ofKeys);
  print(lines.join('\n'));
  if (ofCodes.length > 0) process.exitCode = 2;
}

async function changeLines(client: Client, subject: Subject, sinceTime: string | undefined): Promise<string[]> {
  const lines = await readDrift(client, subject, { sinceTime, limit: MAX_SHOWN_CHANGES });
  if (lines.length === MAX_SHOWN_CHANGES) {
    const others = (await countDrift(client, subject, sinceTime)) - lines.length;
    if (others > 0) lines.push(`… and ${others} later changes. To see them: --since`);
  }
  return lines;
}
