// The typed client of docs/integrators.md, made, compiled and run as it stands there; only the address is that of the service of this test.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Outcome, PROJECT, shell } from '../support/program.js';
import { blocksOf } from '../support/documentation.js';
import { World } from '../support/world.js';

let world: World;
let folder: string;
beforeAll(async () => {
  world = await World.create({}, (database) =>
    database.query(
      `insert into communication_code values ('SAMPLE-DELIVERY', 'CONFIRMED', 'Sample: the delivery window was confirmed')`,
    ),
  );
  folder = await mkdtemp(join(PROJECT, 'test', 'tools', 'client-')); // where the client's packages are found
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await world?.close();
});

const here = (command: string, environment = {}): Promise<Outcome> =>
  shell(command, folder, environment);

it('the typed client of docs/integrators.md compiles and prints the codes', async () => {
  const [command, program] = blocksOf('docs/integrators.md')
    .filter(({ heading }) => heading === 'A typed client')
    .map(({ text }) => text.replaceAll('http://127.0.0.1:3000', world.service.url));
  expect(await here(command ?? '')).toMatchObject({ status: 0 });
  await writeFile(join(folder, 'codes.ts'), program ?? '');
  const compilerOptions = { strict: true, module: 'nodenext', target: 'es2023', types: ['node'] };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
  expect(await here('npx tsc')).toEqual({ status: 0, stdout: '', stderr: expect.any(String) });
  const environment = { KEY: world.key.key, TOKEN: world.token };
  expect(await here('node codes.js', environment)).toEqual({
    status: 0,
    stdout: 'CONFIRMED Sample: the delivery window was confirmed\n',
    stderr: '',
  });
  expect(await here('node codes.js', { ...environment, KEY: 'wrong' })).toMatchObject({
    stderr: expect.stringContaining('Api-Key is not valid.'),
  });
});
