import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type TestDatabase, createDatabase } from '../support/database.js';
import { PROJECT, run } from '../support/program.js';

const TEXT = readFileSync(join(import.meta.dirname, 'recipes.md'), 'utf8');
const RECIPES = [...TEXT.matchAll(/^```sql\n([\s\S]*?)^```$/gm)].map(([, sql]) => sql as string);

let folder: string;
let database: TestDatabase;

/** The program finds its migrations beside itself, so a copy of it follows the recipes. */
const migrate = (...words: string[]) =>
  run(join(relative(join(PROJECT, 'dist'), folder), 'dist/migrate.js'), words, { DATABASE_URL: database.url });

async function lists(): Promise<Record<string, string[]>> {
  const rows = await database.query<{ code_list: string; values: string[] }>(
    `select code_list, array_agg(value::text order by position) as values from code_list_value group by code_list`,
  );
  return Object.fromEntries(rows.map(({ code_list: name, values }) => [name, values]));
}
const records = () => database.query('select code_type, code, description from communication_code');

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'recipes-'));
  for (const name of ['dist', 'migrations']) cpSync(join(PROJECT, name), join(folder, name), { recursive: true });
  symlinkSync(join(PROJECT, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  RECIPES.forEach((sql, at) => writeFileSync(join(folder, 'migrations', `${9001 + at}_follow_recipe.sql`), sql));
  database = await createDatabase();
});
afterAll(async () => {
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

describe('the recipes of the documentation', () => {
  it('add, retire, rename and reorder values and add a code, and go back', async () => {
    const before = await lists();
    expect(await migrate('up')).toMatchObject({ status: 0, stderr: '' });
    expect(await lists()).toEqual({
      ...before,
      orderType: ['Standard', 'Return', 'Transfer'],
      transportationMode: ['Truck', 'Rail', 'Ocean', 'LTL', 'Parcel'],
      equipmentType: ['DryVan', 'Flatbed', 'Refrigerated', 'Container', 'Tanker'],
      phoneNumberType: ['Mobile', 'Home', 'Office'],
    });
    expect(await records()).toEqual([
      { code_type: 'APPOINTMENT', code: 'CONFIRMED', description: 'The consumer confirmed the appointment' },
    ]);
    expect(await migrate('down', String(RECIPES.length))).toMatchObject({ status: 0, stderr: '' });
    expect(await lists()).toEqual(before);
    expect(await records()).toEqual([]);
  });
});
