// Adds an optional column to the communication codes as CONTRIBUTING.md says, but only in the entity and in the table.
// CSV files and plans must then know the column without a further change.
import 'reflect-metadata';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, it } from '@jest/globals';
import { Column } from 'typeorm';
import type { Change } from '../../../src/administration/migrate/code-changes.js';
import type { CodeRows } from '../../../src/lookups/code-rows.js';
import { createDatabase } from '../../support/database.js';
import { useTestFolder } from '../../support/test-folder.js';

const database = await createDatabase();
const client = await database.session();
const path = join(useTestFolder(), 'codes.csv');
await database.query(
  `alter table communication_code
     add sample_note text constraint communication_code_sample_note_is_clean check (is_clean(sample_note, 64))`,
);
// The column is added before tables.js is imported, because tables.js reads the columns of the entity while it loads
const { CommunicationCode } = await import('../../../src/database/entities.js');
Column('text', { name: 'sample_note', nullable: true })(CommunicationCode.prototype, 'sampleNote');
const { COMMUNICATION_CODE } = await import('../../../src/database/tables.js');
const { readCsvFile } = await import('../../../src/administration/csv/csv-file.js');
const { readRows } = await import('../../../src/administration/csv/csv-tables.js');
const { compareWithTable } = await import('../../../src/administration/csv/csv-migration.js');
const { findChanges } = await import('../../../src/administration/migrate/code-changes.js');
const { describeEffects } = await import('../../../src/administration/migrate/describe-plan.js');
const { ALWAYS } = await import('../../../src/lookups/code-rows.js');
afterAll(() => database.drop());

beforeEach(async () => {
  await database.query('truncate communication_code');
  await database.query(
    `insert into communication_code (code_type, code, description, sample_note)
     values ('T', 'A', 'D', 'Billing'), ('T', 'B', 'D', null)`,
  );
});

/** Applies the migration of a CSV file. Returns the SQL that undoes the migration, and the new notes of all codes. */
async function applyFile(text: string) {
  writeFileSync(path, text);
  const { up, down } = await compareWithTable(client, await readCsvFile(path), false);
  await client.query(up.join('\n'));
  return { down: down.join('\n'), notes: await readNotes() };
}

async function readNotes() {
  const rows = await readRows(client, COMMUNICATION_CODE);
  return rows.map(({ code, sample_note }) => [code, sample_note]);
}

it('a file without the column is accepted, and keeps the notes of all codes', async () => {
  const { notes } = await applyFile('code_type,code,description\nT,A,New\nT,B,New\nT,C,New\n');
  expect(notes).toEqual([
    ['A', 'Billing'],
    ['B', ''],
    ['C', ''],
  ]);
});

it('an empty cell of the column becomes null, and the down migration restores the former note', async () => {
  const before = await readNotes();
  const { down, notes } = await applyFile('code_type,code,description,sample_note\nT,A,D,\nT,B,D,Returns\nT,C,D,\n');
  expect(notes).toEqual([
    ['A', ''],
    ['B', 'Returns'],
    ['C', ''],
  ]);
  expect(await database.query('select code from communication_code where sample_note is null order by code')).toEqual([
    { code: 'A' },
    { code: 'C' },
  ]);
  await client.query(down);
  expect(await readNotes()).toEqual(before);
});

it.each([
  { former: null, present: 'Billing', line: '~ codeType "T", code "A", sampleNote nothing → "Billing" changed' },
  { former: 'Billing', present: null, line: '~ codeType "T", code "A", sampleNote "Billing" → nothing changed' },
])('a plan shows that a note changes from $former to $present', ({ former, present, line }) => {
  const changes = findChanges(toCodes(former), toCodes(present), Date.now());
  expect(describeChanges(changes)).toContain(`    ${line}`);
});

it('a plan does not mention the column for a new code without a note', () => {
  const changes = findChanges(toCodes(), toCodes(null), Date.now());
  expect(describeChanges(changes)).toContain('    + codeType "T", code "A", description "D" added');
});

/** Returns codes, one for each note. */
function toCodes(...notes: (string | null)[]): CodeRows {
  const records = notes.map((sampleNote) => ({ codeType: 'T', code: 'A', description: 'D', sampleNote, ...ALWAYS }));
  return { properties: [], values: [], records };
}

function describeChanges(changes: Change[]): string[] {
  const plan = { migrations: [], missing: [], changes, refusals: [], marks: [], canBreakClients: false };
  return describeEffects(plan, { isFull: true });
}
