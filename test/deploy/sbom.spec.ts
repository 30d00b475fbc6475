import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { PROJECT, shell } from '../support/program.js';

interface Bill {
  readonly bomFormat: string;
  readonly components: readonly {
    readonly name: string;
    readonly version: string;
    readonly licenses?: readonly {
      readonly license?: { id: string };
      readonly expression?: string;
    }[];
  }[];
}

/** Licences that let a company run the package without opening its own code. Another one is a decision for people. */
const ALLOWED = [
  'MIT',
  'ISC',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  '0BSD',
  'BlueOak-1.0.0',
];
/** Packages that name their licence (MIT) in a way that npm does not read. */
const UNREAD = ['busboy', 'streamsearch'];

let bill: Bill;
beforeAll(async () => {
  const { stdout, stderr } = await shell('npm run --silent sbom', PROJECT, {});
  if (!stdout) throw new Error(stderr);
  bill = JSON.parse(stdout) as Bill;
});

describe('npm run sbom', () => {
  it('has every package of the lock file that the image installs, and no other', () => {
    const { packages } = JSON.parse(readFileSync(join(PROJECT, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { version: string; dev?: true; devOptional?: true }>;
    };
    const installed = Object.entries(packages)
      .filter(([path, { dev, devOptional }]) => path !== '' && !dev && !devOptional)
      .map(([path, { version }]) => `${path.split('node_modules/').at(-1)} ${version}`);
    expect(bill.bomFormat).toBe('CycloneDX');
    expect(new Set(bill.components.map(({ name, version }) => `${name} ${version}`))).toEqual(
      new Set(installed),
    );
  });

  it('names licences that are allowed', () => {
    const others = bill.components.filter(
      ({ name, licenses: [first] = [] }) =>
        !UNREAD.includes(name) && !ALLOWED.includes(first?.license?.id ?? first?.expression ?? ''),
    );
    expect(others.map(({ name, licenses }) => [name, licenses])).toEqual([]);
  });
});
