import type { Client } from 'pg';
import { refuse } from '../../frame/command.js';
import { columnOf } from '../../frame/column-of.js';
import { type Row, type Table, keyOf } from '../../lists/list-tables.js';
import { migrationText } from '../../lists/migration-text.js';
import { changesBetween } from '../../lists/row-changes.js';
import { CODE_TABLES, type DriftingChange, readDrift } from './recorded-drift.js';

/**
 * The migration that the drift should have been. It first undoes the drift, so that it changes nothing here and writes
 * the same rows, which settles them. Keys are left out: the record lacks their hashes.
 */
export async function driftMigration(
  client: Client,
  sinceTime: string | undefined,
): Promise<string> {
  const drift = await readDrift(client, { sinceTime });
  const changes = [];
  for (const table of CODE_TABLES) {
    const query = `select to_jsonb(t) from public.${table.name} t order by t`;
    const present = await columnOf<Row>(client, query);
    const ofTable = drift.filter((change) => change.table === table.name);
    changes.push(changesBetween(table, rowsBefore(table, present, ofTable), present));
  }
  const text = migrationText({ title: 'What was changed by hand', changes, isDoneAlready: true });
  return text ?? refuse('No code was changed by hand. Nothing was written.');
}

/** The rows without the drift: its changes are undone, the last one first. */
function rowsBefore(
  table: Table,
  present: readonly Row[],
  drift: readonly DriftingChange[],
): Row[] {
  const rows = new Map(present.map((row) => [keyOf(table, row), row]));
  for (const { line, before, after } of drift.toReversed()) {
    const wasThere = after === null || rows.delete(keyOf(table, after));
    if (!wasThere)
      refuse(`A migration changed the same row later. Write the migration yourself: ${line}`);
    if (before) rows.set(keyOf(table, before), before);
  }
  return [...rows.values()];
}
