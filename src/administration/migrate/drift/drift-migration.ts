import type { Client } from 'pg';
import { refuse } from '../../frame/command.js';
import { columnOf } from '../../frame/column-of.js';
import { type Row, type Table, keyOf } from '../../lists/list-tables.js';
import { migrationText } from '../../lists/migration-text.js';
import { changesBetween } from '../../lists/row-changes.js';
import { CODE_TABLES, type DriftingChange, readDrift } from './recorded-drift.js';

/**
 * The text of the migration that the changes by hand should have been.
 *
 * Elsewhere it brings the codes to what they are here. Here it changes nothing: it first puts the rows back as they
 * were before the drift, and then writes them as they are. It has to write them, since a change is drift until a
 * migration has written the same row. Changes of keys are left out: the record lacks their hashes, so nobody can write
 * them.
 */
export async function driftMigration(client: Client, sinceTime: string | undefined): Promise<string> {
  const drift = await readDrift(client, { sinceTime });
  const changes = [];
  for (const table of CODE_TABLES) {
    const query = `select to_jsonb(t) from public.${table.name} t order by t`;
    const present = await columnOf<Row>(client, query);
    const ofTable = drift.filter((change) => change.table === table.name);
    changes.push(changesBetween(table, rowsBefore(table, present, ofTable), present));
  }
  const text = migrationText({ title: 'What was changed by hand', changes, isDoneAlready: true });
  if (text === undefined) refuse('No code was changed by hand. Nothing was written.');
  return text;
}

/**
 * The rows without the drift: its changes are undone, the last one first. That is possible only where each row is as
 * its last change by hand left it, and where its former key is free: otherwise a migration has written there since, and
 * what it wrote would be overwritten.
 */
function rowsBefore(table: Table, present: readonly Row[], drift: readonly DriftingChange[]): Row[] {
  const rows = new Map(present.map((row) => [keyOf(table, row), row]));
  for (const { line, before, after } of drift.toReversed()) {
    if (after !== null) {
      const isAsItWasLeft = rows.delete(keyOf(table, after));
      if (!isAsItWasLeft) refuseLaterChange(line);
    }
    if (before !== null) {
      const isFormerKeyTaken = rows.has(keyOf(table, before));
      if (isFormerKeyTaken) refuseLaterChange(line);
      rows.set(keyOf(table, before), before);
    }
  }
  return [...rows.values()];
}

function refuseLaterChange(line: string): never {
  refuse(`A migration changed the same row later. Write the migration yourself: ${line}`);
}
