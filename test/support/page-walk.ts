// A page of the documentation as its readers use it: its commands are run as they stand there, in order, in a copy of the project, and
// have to print what the page shows.
import {
  cpSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { type Block, asPrinted, blocksOf, dialogue, remark } from './documentation.js';
import { type Outcome, PROJECT, shell } from './program.js';
import { World } from './world.js';

const COPIED = [
  'src',
  'dist',
  'migrations',
  'scripts',
  'deploy',
  'package.json',
  'package-lock.json',
  'last-migration.txt',
];
type Role = Parameters<World['database']['urlOf']>[0];

const SAMPLES = `insert into communication_code (code_type, code, description) values
  ('SAMPLE-DELIVERY', 'CONFIRMED', 'Sample: the delivery window was confirmed'),
  ('SAMPLE-DELIVERY', 'RESCHEDULED', 'Sample: the delivery was moved to another day')`;

/** Blocks that a test can run or check; prose, diagrams and what a remark excepts are not among them. */
export const isWalked = (block: Block): boolean =>
  ['console', 'sh', 'sql', 'csv'].includes(block.language) &&
  remark(block, 'not run:') === undefined &&
  remark(block, 'run by') === undefined;

export class PageWalk {
  private readonly environment: Record<string, string>;
  /** Ids that a page shows, with the real ones. */
  private readonly realIds = new Map<string, string>();
  /** A migration that `migrate new` created, and that the next block of SQL fills. */
  private created: string | undefined;

  private constructor(
    readonly world: World,
    readonly folder: string,
  ) {
    const { key, token, issuer, database } = world;
    this.environment = {
      KEY: key.key,
      TOKEN: token,
      CLIENT_ID: 'tests',
      CLIENT_SECRET: 'tests',
      ...issuer.environment,
      DATABASE_URL: database.urlOf('order_lookup_owner'),
    };
  }

  static async start(): Promise<PageWalk> {
    const world = await World.create({}, (database) => database.query(SAMPLES));
    const folder = mkdtempSync(join(tmpdir(), 'page-'));
    for (const name of COPIED) cpSync(join(PROJECT, name), join(folder, name), { recursive: true });
    utimesSync(join(folder, 'package-lock.json'), 0, 0); // nothing to install in the folder that is shared,
    utimesSync(join(folder, 'dist', 'main.js'), new Date(), new Date()); // and nothing to build
    symlinkSync(join(PROJECT, 'node_modules'), join(folder, 'node_modules'));
    return new PageWalk(world, folder);
  }

  async close(): Promise<void> {
    rmSync(this.folder, { recursive: true, force: true });
    await this.world.close();
  }

  /** Does what a reader does with a block. Gives what its last command printed. */
  async follow(block: Block): Promise<Outcome | undefined> {
    const file = remark(block, 'in ');
    if (file) {
      expect(readFileSync(join(PROJECT, file), 'utf8')).toContain(block.text);
      return undefined;
    }
    const target = remark(block, 'write to');
    if (target) writeFileSync(join(this.folder, target), block.text);
    else if (block.language === 'sql') await this.followSql(block.text, remark(block, 'as '));
    else return this.followCommands(block);
    return undefined;
  }

  /** @param role that the page names; the owner of the tables if it names none */
  private async followSql(sql: string, role = 'order_lookup_owner'): Promise<void> {
    if (!sql.startsWith('-- Up Migration')) {
      const { database } = this.world;
      const client = new Client(role === 'superuser' ? database.url : database.urlOf(role as Role));
      await client.connect();
      await client.query(sql);
      await client.end();
      return;
    }
    writeFileSync(this.created ?? this.nextMigration(), sql);
    this.created = undefined;
  }

  private nextMigration(): string {
    const names = readdirSync(join(this.folder, 'migrations')).filter((name) =>
      /^\d{4}_/.test(name),
    );
    const last = Number(names.toSorted().at(-1)?.slice(0, 4));
    return join(
      this.folder,
      'migrations',
      `${String(last + 1).padStart(4, '0')}_follow_recipe.sql`,
    );
  }

  private async followCommands(block: Block): Promise<Outcome | undefined> {
    const steps =
      block.language === 'sh' ? [{ command: block.text, printed: '' }] : dialogue(block);
    let outcome: Outcome | undefined;
    for (const [at, { command, printed }] of steps.entries()) {
      outcome = await this.run(command, remark(block, 'as '));
      const status = at === steps.length - 1 ? Number(remark(block, 'ends with') ?? 0) : 0;
      const { pattern, ids } = asPrinted(printed);
      const stdout = (status === 1 ? outcome.stderr : outcome.stdout).replaceAll(/\s/g, '');
      expect({ command, ...outcome, stdout }).toEqual({
        command,
        ...outcome,
        status,
        stdout: expect.stringMatching(pattern),
      });
      const real = pattern.exec(stdout);
      ids.forEach((id, index) => this.realIds.set(id, real?.[index + 1] ?? ''));
      this.created = /^created (\S+\.sql)/m.exec(outcome.stdout)?.[1] ?? this.created;
    }
    return outcome;
  }

  /** Runs a command as a reader types it; a variable that is set alone stays set. */
  async run(command: string, role?: string): Promise<Outcome> {
    const { url, managementUrl } = this.world.service;
    let adapted = command
      .replaceAll('http://127.0.0.1:3000', url)
      .replaceAll('http://127.0.0.1:3001', managementUrl);
    for (const [shown, real] of this.realIds) adapted = adapted.replaceAll(shown, real);
    const [, name] = /^(?:export )?([A-Z_]+)=[^ ]*(?:\$\(.*\))?$/.exec(adapted) ?? [];
    const asRole: Record<string, string> =
      role === 'order_lookup_service' || role === 'order_lookup_owner'
        ? { DATABASE_URL: this.world.database.urlOf(role) }
        : {};
    const outcome = await shell(name ? `${adapted}\nprintf %s "$${name}"` : adapted, this.folder, {
      ...this.environment,
      ...asRole,
    });
    if (!name) return outcome;
    this.environment[name] = outcome.stdout;
    return { ...outcome, stdout: '' };
  }
}

/** Describes a test for each block of a page. `more` adds tests that look behind the page; they run after its blocks. */
export function walkThrough(page: string, more?: (walk: () => PageWalk) => void): void {
  describe(page, () => {
    let walk: PageWalk;
    beforeAll(async () => {
      walk = await PageWalk.start();
    });
    afterAll(() => walk?.close());

    const blocks = blocksOf(page).filter(isWalked);
    it.each(blocks.map((block) => [`line ${block.line}, ${block.heading}`, block] as const))(
      '%s',
      async (_line, block) => {
        await walk.follow(block);
      },
    );
    more?.(() => walk);
  });
}
