import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { blocksOf } from '../support/documentation.js';
import { shell, textOf } from '../support/program.js';
import { testFolder } from '../support/test-folder.js';
import { testWorld } from '../support/test-world.js';

const SAMPLE = `insert into communication_code values ('SAMPLE-DELIVERY', 'CONFIRMED', 'Sample: confirmed')`;
const world = testWorld({}, (database) => database.query(SAMPLE));
const folder = testFolder();

it.each([
  { name: 'openapi.yaml', source: () => textOf('src/documentation/openapi.yaml') },
  { name: '/openapi.json', source: () => JSON.stringify(world.contract?.document) },
  {
    name: '/openapi-3.0.json',
    source: async () => (await fetch(`${world.service.url}/openapi-3.0.json`)).text(),
    rules: { 'info-license-strict': 'off' as const }, // 3.0 knows addresses of licences alone, and ours has none
  },
])("$name passes Redocly's recommended rules", async ({ source, rules }) => {
  const config = await createConfig({ extends: ['recommended'], rules: rules ?? {} });
  const problems = await lintFromString({ source: await source(), config });
  expect(problems.map(({ message, location }) => [message, location[0]?.pointer])).toEqual([]);
});

it('the clients of docs/integrators.md, typed in an empty folder, print the codes and the faults', async () => {
  const blocks = blocksOf('docs/integrators.md').filter(({ heading }) => heading === 'A typed client');
  const [generate = '', program = '', compile = '', python = ''] = blocks.map(({ text }) => text);
  const here = (text: string, KEY = world.key.key) =>
    shell(text, folder, { API: world.service.url, KEY, TOKEN: world.token });
  expect(await here(generate)).toMatchObject({ status: 0 });
  writeFileSync(join(folder, 'codes.ts'), program);
  writeFileSync(join(folder, 'codes.py'), python);
  const stdout = 'CONFIRMED Sample: confirmed\n';
  expect(await here(compile)).toMatchObject({ status: 0, stdout });
  expect((await here('node codes.js', 'wrong')).stderr).toContain('Api-Key is not valid.');
  const older = generate.split('\n').at(-2)?.replace('openapi.json', 'openapi-3.0.json') ?? '';
  expect(await here(`rm codes.js order-lookups.d.ts && ${older}`)).toMatchObject({ status: 0 });
  expect(await here(compile)).toMatchObject({ status: 0, stdout });
  expect(await here('python3 codes.py')).toMatchObject({ status: 0, stdout });
  expect((await here('python3 codes.py', 'wrong')).stderr).toMatch(/^invalid-credentials: /);
});
