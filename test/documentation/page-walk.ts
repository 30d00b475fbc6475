// Runs the commands of a page in their order in a copy of the project, and compares their output with the page.
import { readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, expect } from '@jest/globals';
import type { ProgramName } from '../../src/administration/cli/program.js';
import { chooseName } from '../../src/administration/migrate/migration-files.js';
import { copyProject, ProgramCopy } from '../support/project-copy.js';
import { queryAt } from '../support/database.js';
import { type Block, findRemark } from '../support/pages.js';
import type { LocalService } from '../support/local-service.js';
import { localWorld } from '../support/local-world.js';
import { type Outcome, PROJECT, shell } from '../support/program.js';
import type { World } from '../support/world.js';

/** Two of the sample codes that the demo loads. */
const SAMPLES = `
  insert into communication_code (code_type, code, description) values
    ('SAMPLE-DELIVERY', 'CONFIRMED', 'Sample: the delivery window was confirmed'),
    ('SAMPLE-DELIVERY', 'RESCHEDULED', 'Sample: the delivery was moved to another day')`;

/** Matches a command of ours that needs no shell, because it has no pipes, files or variables. */
const OWN_COMMAND = /^npm run (?:--silent )?(?<program>\w+) -- (?<words>[^$&;<>\\`|]+)$/;
const WORD = /"(?<quoted>[^"]*)"|(?<plain>\S+)/g;

export class PageWalk {
  readonly copy = new ProgramCopy(copyProject());
  readonly folder = this.copy.folder;
  readonly world: World<LocalService>;
  /** The variables that the reader has set. */
  private readonly variables: Record<string, string> = {};
  /** The ids that a page shows, each with the real id. */
  private readonly realIds = new Map<string, string>();
  /** The migration that `migrate new` created. The next block of SQL is written into it. */
  private created: string | undefined;

  /** @param options.replicas the number of services that the page needs: 0 if its commands only use the database */
  constructor({ replicas = 1 } = {}) {
    this.world = localWorld({ replicas, prepare: (database) => database.query(SAMPLES) });
    afterAll(() => this.copy.remove());
  }

  /** Does what a reader does with a block. */
  async follow(block: Block): Promise<void> {
    const { language, text } = block;
    const target = findRemark(block, 'write to');
    const role = findRemark(block, 'as') ?? 'order_lookup_owner';
    if (target) writeFileSync(join(this.folder, target), text);
    else if (text.startsWith('-- Up Migration')) {
      writeFileSync(this.created ?? this.nextMigration(), text);
      this.created = undefined;
    } else if (language === 'sql') await queryAt(this.urlOf(role), text);
    else if (language === 'sh') expectSuccess(await this.run(text, role));
    else await this.followDialogue(block, role);
  }

  private urlOf(role: string): string {
    const { database } = this.world;
    return role === 'superuser' ? database.url : database.urlOf(role);
  }

  /** Returns the path that `migrate new` would choose: its name comes after those of all migrations. */
  private nextMigration(): string {
    const names = readdirSync(this.copy.migrations).map((file) => basename(file, '.sql'));
    return join(this.copy.migrations, `${chooseName('follow_recipe', names)}.sql`);
  }

  private async followDialogue(block: Block, role: string): Promise<void> {
    const steps = readDialogue(block.text);
    for (const [index, { command, printed }] of steps.entries()) {
      const outcome = await this.run(command, role);
      const isLast = index === steps.length - 1;
      const { pattern, ids } = toPattern(printed);
      const stdout = outcome.stdout.replace(NPM_HEAD, '').replaceAll(/\s/g, '');
      // Both sides have the whole outcome, so that a failure also shows the standard error
      expect({ command, ...outcome, stdout }).toEqual({
        command,
        ...outcome,
        status: isLast ? Number(findRemark(block, 'ends with') ?? 0) : 0,
        stdout: expect.stringMatching(pattern),
      });
      const real = pattern.exec(stdout);
      ids.forEach((id, place) => this.realIds.set(id, real?.[place + 1] ?? ''));
      this.created = /^created (\S+\.sql)/m.exec(outcome.stdout)?.[1] ?? this.created;
    }
  }

  /** Runs a command as a reader types it. If the line only sets a variable, later commands have the variable, too. */
  async run(command: string, role = 'order_lookup_owner'): Promise<Outcome> {
    const adapted = this.adapt(command);
    const own = OWN_COMMAND.exec(adapted)?.groups;
    if (own) return this.runOwn(own['program'] as ProgramName, own['words'] ?? '', role);
    // The variables of a shell end with it. So after NAME=$(COMMAND) the shell prints the value, for later commands
    const [, name] = /^([A-Z_]+)=\$\(.*\)$/.exec(adapted) ?? [];
    const typed = name ? `${adapted}\nprintf %s "$${name}"` : adapted;
    const outcome = await shell(`set -e\n${typed}`, this.folder, this.environment(role));
    if (!name) return outcome;
    this.variables[name] = outcome.stdout;
    return { ...outcome, stdout: '' };
  }

  /** Returns the command with the real addresses and ids. */
  private adapt(command: string): string {
    const [service] = this.world.replicas;
    let adapted = command.replaceAll('http://127.0.0.1:3001', service?.managementUrl ?? '');
    for (const [shown, real] of this.realIds) adapted = adapted.replaceAll(shown, real);
    return adapted;
  }

  /** Runs a command in the test's process, which takes a tenth of the time of a shell. */
  private async runOwn(program: ProgramName, text: string, role: string): Promise<Outcome> {
    const words = [...text.matchAll(WORD)].map(({ groups }) => groups?.['quoted'] ?? groups?.['plain'] ?? '');
    this.copy.environment = this.environment(role);
    process.chdir(this.folder); // the paths in commands are relative to the reader's folder
    try {
      return await this.copy.run(program, ...words);
    } finally {
      process.chdir(PROJECT);
    }
  }

  private environment(role: string): Record<string, string> {
    const { replicas, key, token, issuer } = this.world;
    return {
      API: replicas[0]?.url ?? '',
      KEY: key.key,
      TOKEN: token,
      CLIENT_ID: 'tests',
      CLIENT_SECRET: 'tests',
      ...issuer.environment,
      ...this.variables,
      DATABASE_URL: this.urlOf(role),
    };
  }
}

/** Returns the commands of a console block with their output. A backslash at the end of a line continues a command. */
function readDialogue(text: string): { command: string; printed: string }[] {
  const parts = text.split(/^\$ /m).slice(1);
  return parts.map((part) => {
    const [, command = '', printed = ''] = /^((?:.*\\\n)*.*)\n?([^]*)$/.exec(part) ?? [];
    return { command, printed };
  });
}

/** The lines that `npm run` prints before the output of a program. Pages leave them out. */
const NPM_HEAD = /^\n(?:> .*\n)+/;
const ID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';

/**
 * Returns a pattern of the output that the page shows. Remove the white space of the real output before you match it.
 * Ids, times and numbers of migrations may differ. Each id is a group, so that later commands can use the real id.
 */
function toPattern(shown: string): { readonly pattern: RegExp; readonly ids: string[] } {
  const ids: string[] = [];
  const source = shown
    .replaceAll(/\s/g, '')
    // Escaping comes first, because it would also escape the patterns that the next steps insert
    .replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`)
    .replaceAll(new RegExp(ID, 'g'), (id) => {
      const index = ids.indexOf(id);
      if (index >= 0) return `\\${index + 1}`; // the same id again: the text that its group has matched
      ids.push(id);
      return `(${ID})`;
    })
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\\\.\d{3}Z/g, String.raw`[\d-]{10}T[\d:.]{12}Z`)
    .replaceAll(/(?:\d{14}|\d{4})(?=_[a-z])/g, String.raw`\d+`) // 20270101000000_add or 0005_add
    .replaceAll('…', '.*');
  return { pattern: new RegExp(`^${source}$`), ids };
}

/** Asserts the status 0. If a command fails, the message shows what the command printed. */
export function expectSuccess(outcome: { readonly status: number | null }): void {
  expect(outcome).toEqual({ ...outcome, status: 0 });
}
