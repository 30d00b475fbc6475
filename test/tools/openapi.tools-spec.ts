import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { blocksOf } from '../support/documentation.js';
import { PROJECT, shell } from '../support/program.js';
import { World } from '../support/world.js';

let world: World;
const folder = mkdtempSync(join(PROJECT, 'test', 'tools', 'client-')); // where the client's packages are found
beforeAll(async () => {
  const sample = `insert into communication_code values ('SAMPLE-DELIVERY', 'CONFIRMED', 'Sample: confirmed')`;
  world = await World.create({}, (database) => database.query(sample));
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await world?.close();
});

it("the OpenAPI document passes Redocly's recommended rules", async () => {
  const source = JSON.stringify(world.contract.document);
  const config = await createConfig({ extends: ['recommended'] });
  const problems = await lintFromString({ source, config });
  expect(problems.map(({ message, location }) => [message, location[0]?.pointer])).toEqual([]);
});

it('the typed client of docs/integrators.md compiles, prints the codes, and tells what is wrong', async () => {
  const blocks = blocksOf('docs/integrators.md').filter(
    ({ heading }) => heading === 'A typed client',
  );
  const here = (text = '', KEY = world.key.key) =>
    shell(text.replaceAll('http://127.0.0.1:3000', world.service.url), folder, {
      KEY,
      TOKEN: world.token,
    });
  const [command, program = ''] = blocks.map(({ text }) => text);
  expect(await here(command)).toMatchObject({ status: 0 });
  writeFileSync(
    join(folder, 'codes.ts'),
    program.replace('http://127.0.0.1:3000', world.service.url),
  );
  const compilerOptions = { strict: true, module: 'nodenext', target: 'es2023', types: ['node'] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
  expect(await here('npx tsc && node codes.js')).toMatchObject({
    stdout: 'CONFIRMED Sample: confirmed\n',
  });
  expect((await here('node codes.js', 'wrong')).stderr).toContain('Api-Key is not valid.');
});
