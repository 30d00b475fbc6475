// README.md as its readers use it: its commands are run as they stand there, in a copy of the project, and print what it shows.
import {
  cpSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Outcome, PROJECT, shell } from '../support/program.js';
import { type Block, asPrinted, dialogue, readmeBlocks } from '../support/readme.js';
import { World } from '../support/world.js';

let world: World;
let folder: string;
let environment: Record<string, string>;

beforeAll(async () => {
  world = await World.create({}, (database) =>
    database.query(`insert into communication_code (code_type, code, description) values
      ('SAMPLE-DELIVERY', 'CONFIRMED', 'Sample: the delivery window was confirmed'),
      ('SAMPLE-DELIVERY', 'RESCHEDULED', 'Sample: the delivery was moved to another day')`),
  );
  folder = mkdtempSync(join(tmpdir(), 'readme-'));
  for (const name of ['src', 'dist', 'migrations', 'scripts', 'package.json', 'package-lock.json'])
    cpSync(join(PROJECT, name), join(folder, name), { recursive: true });
  utimesSync(join(folder, 'package-lock.json'), 0, 0); // nothing to install in the folder that is shared,
  utimesSync(join(folder, 'dist', 'main.js'), new Date(), new Date()); // and nothing to build
  symlinkSync(join(PROJECT, 'node_modules'), join(folder, 'node_modules'));
  const { key, token, issuer, database } = world;
  environment = {
    KEY: key.key,
    TOKEN: token,
    ...issuer.environment,
    DATABASE_URL: database.urlOf('order_lookup_owner'),
  };
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await world?.close();
});

function here(command: string, other: Record<string, string> = {}): Promise<Outcome> {
  const { url, managementUrl } = world.service;
  const adapted = command
    .replaceAll('http://127.0.0.1:3000', url)
    .replaceAll('http://127.0.0.1:3001', managementUrl);
  return shell(adapted, folder, { ...environment, ...other });
}

/** Runs the commands of a block; each has to print what is shown below it. Gives what the last one printed. */
async function follow(block: Block, other: Record<string, string> = {}): Promise<Outcome> {
  let outcome: Outcome = { status: null, stdout: '', stderr: '' };
  for (const { command, printed } of dialogue(block)) {
    outcome = await here(command, other);
    const stdout = outcome.stdout.replaceAll(/\s/g, '');
    expect({ command, ...outcome, stdout }).toEqual({
      command,
      ...outcome,
      stdout: expect.stringMatching(asPrinted(printed)),
    });
  }
  return outcome;
}

const consoles = (heading: string): Block[] =>
  readmeBlocks(heading).filter(({ language }) => language === 'console');
const migrations = (heading: string): string[] =>
  readmeBlocks(heading)
    .filter(({ language }) => language === 'sql')
    .map(({ text }) => text);

async function lists(): Promise<Record<string, string[]>> {
  const rows = await world.database.query<{ name: string; values: string[] }>(
    `select code_list as name, array_agg(value::text order by position) as values from code_list_value group by code_list`,
  );
  return Object.fromEntries(rows.map(({ name, values }) => [name, values]));
}

describe('README.md', () => {
  it.each(['Three calls', 'One error, and how to read it'])('%s', async (heading) => {
    for (const block of consoles(heading)) await follow(block);
  });

  it('from the problem document to its line in the log', async () => {
    const [block] = consoles('One error, and how to read it');
    const { instance } = JSON.parse((await follow(block as Block)).stdout) as { instance: string };
    const line = await world.service.waitForLog(
      ({ requestId }) => instance === `urn:uuid:${String(requestId)}`,
    );
    const shown = readmeBlocks('Operating').find(({ language }) => language === 'json');
    expect(Object.keys(line)).toEqual(Object.keys(JSON.parse(shown?.text ?? '') as object));
    expect(line).toMatchObject({ problem: 'invalid-query', status: 400, keyId: world.key.id });
  });

  it('examines and measures the running service', async () => {
    for (const path of readmeBlocks('Three calls').flatMap(dialogue)) await here(path.command);
    for (const block of consoles('Operating'))
      await follow(block, { DATABASE_URL: world.database.urlOf('order_lookup_service') });
  });

  it('adds a code, and then retires, renames and reorders, and goes back', async () => {
    const before = await lists();
    const [create, plan] = consoles('Add a code');
    const { stdout } = await follow(create as Block);
    writeFileSync(/created (.*)/.exec(stdout)?.[1] ?? '', migrations('Add a code')[0] ?? '');
    await follow(plan as Block);
    expect(await lists()).toEqual({ ...before, orderType: ['Standard', 'Return', 'Transfer'] });

    const recipes = migrations('Retire, rename, reorder');
    recipes.forEach((sql, at) =>
      writeFileSync(
        join(folder, 'migrations', `${String(7 + at).padStart(4, '0')}_follow_recipe.sql`),
        sql,
      ),
    );
    const [planOfAll] = consoles('Retire, rename, reorder');
    expect(await follow(planOfAll as Block)).toMatchObject({ status: 2 });
    expect(await here('npm run migrate -- up')).toMatchObject({ status: 0 });
    expect(await lists()).toEqual({
      ...before,
      orderType: ['Standard', 'Return', 'Transfer'],
      transportationMode: ['Truck', 'Rail', 'Ocean', 'LTL', 'Parcel'],
      equipmentType: ['DryVan', 'Flatbed', 'Refrigerated', 'Container', 'Tanker'],
      phoneNumberType: ['Mobile', 'Home', 'Office'],
    });
    const added = `select description from communication_code where code_type = 'APPOINTMENT' and code = 'CONFIRMED'`;
    expect(await world.database.query(added)).toEqual([
      { description: 'The consumer confirmed the appointment' },
    ]);
    expect(await here(`npm run migrate -- down ${recipes.length + 1}`)).toMatchObject({
      status: 0,
    });
    expect(await lists()).toEqual(before);
    expect(await world.database.query(added)).toEqual([]);
  }, 60_000);

  it('issues, revokes and lists keys', async () => {
    let id = '';
    for (const { command, printed } of dialogue(consoles('API keys')[0] as Block)) {
      const { stdout } = await follow({
        language: 'console',
        text: `$ ${command.replace('KEY_ID', id)}\n${printed}`,
      });
      id = /Its id is (\S+);/.exec(stdout)?.[1] ?? id;
    }
  });

  it('has the statements for a DBA that every test database was made with', () => {
    expect(migrations('Production')).toEqual([
      readFileSync(join(PROJECT, 'deploy/database/1-roles.sql'), 'utf8'),
    ]);
  });
});
