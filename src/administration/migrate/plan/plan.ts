import type { Client } from 'pg';
import type { EntityManager } from 'typeorm';
import { groupBy } from '../../../collections/group-by.js';
import { objectFaults } from '../../../database/objects.js';
import { SETTINGS } from '../../../database/session.js';
import { readCodes } from '../../../lookups/read-codes.js';
import { messageOf } from '../../../telemetry/error-message.js';
import { FLAG, command } from '../../frame/command.js';
import { type Direction, pendingOf, takeState } from '../migration-files.js';
import { runFile } from '../run-migrations.js';
import { type Change, changesBetween } from './changes.js';
import { LIMITS, rehearse } from './rehearse.js';

export const plan = command({
  usage: '[--json]',
  summary: 'shows what callers would see change; status 2 where it can break clients',
  options: { json: FLAG },
  run: async () => {
    const json = await planMigrations('up');
    if (json.migrations.length === 0) return { text: 'No migration is pending.', json };
    const lines = [
      `Pending: ${json.migrations.join(', ')}`,
      ...describeEffects(json),
      json.wayBack ? `\nThe way back ${json.wayBack}.\n` : '',
      json.canBreakClients
        ? 'WARNING: this can break clients (lines with "!").'
        : 'Nothing here breaks clients.',
      'Nothing was changed: this was a plan.',
    ];
    return { text: lines.join('\n'), json, status: json.canBreakClients ? 2 : 0 };
  },
});

const SIGNS = { added: '+', removed: '-', moved: '↕', changed: '~' };

export function describeEffects({ changes, refusals }: Plan): string[] {
  const groups = groupBy(changes, ({ at, area }) => (at ? `at ${at}, ${area}` : area));
  const lines = [...groups].flatMap(([title, group]) => ['', title, ...group.map(describeChange)]);
  if (changes.length + refusals.length === 0) lines.push('', 'Callers see no difference.');
  if (refusals.length > 0) lines.push('', ...refusals.map((refusal) => `! ${refusal}`));
  return lines;
}

function describeChange(change: Change): string {
  const { kind, what, property, name, description, former, after, withdrawn, breaks } = change;
  const texts = [former, description].flatMap((text) => (text ? JSON.stringify(text) : []));
  const shown = [property, name, texts.join(' → ')].filter(Boolean).join(': ');
  const place = after === undefined ? '' : after === null ? ' at the beginning' : ` after ${after}`;
  const text = `${SIGNS[kind]} ${what} ${shown} ${withdrawn ? 'no longer ' : ''}${kind}${place}`;
  return breaks ? `  ! ${text} (${breaks})` : `    ${text}`;
}

type Plan = Awaited<ReturnType<typeof planMigrations>>;

/** What callers would see change if these migrations were applied or undone. None is. */
export async function planMigrations(direction: Direction, namesOf = pendingOf) {
  const { before, after, migrations, wayBack } = await rehearse(async (client, manager) => {
    const names = namesOf(await takeState(client, direction));
    const former = await viewOf(client, manager);
    for (const name of names) await runFile(client, name, direction, LIMITS);
    const then = await viewOf(client, manager);
    const back = async (): Promise<string | undefined> => {
      for (const name of names.toReversed()) await runFile(client, name, 'down', LIMITS);
      const { codes } = await viewOf(client, manager);
      const isSame = JSON.stringify(codes) === JSON.stringify(former.codes);
      return isSame ? undefined : 'does not restore the codes';
    };
    const failed = ({ message }: Error): string => `fails: ${message.split(/\.?(?:\n|$)/, 1)[0]}`;
    const fault = direction === 'up' ? await back().catch(failed) : undefined;
    return { before: former, after: then, migrations: names, wayBack: fault };
  });
  const changes = changesBetween(before.codes, after.codes, Date.now());
  const gone = [...before.keys].flatMap(([key, name]) => (after.keys.has(key) ? [] : name));
  const broken = after.objects.filter((fault) => !before.objects.includes(fault));
  const refusals = migrations.length > 0 ? [...after.refusals, ...broken] : [];
  if (gone.length > 0)
    refusals.push(`callers will be refused: keys of ${[...new Set(gone)].sort().join(', ')}`);
  const canBreakClients = refusals.length > 0 || changes.some(({ breaks }) => breaks);
  return { migrations, changes, refusals, wayBack, canBreakClients };
}

// What the service would read: with its own readers, its own role and its own settings, so that a right that is missing, row level security or
// a table that is gone shows here as it would there. A session whose role may not act as the service's reads with its own rights.
// A key that is in force now, and in 30 days, is there twice
const KEYS = `select id || encode(key_hash, 'hex') || days as key, client from public.api_key, unnest(array[0, 30]) days
  where coalesce(least(expires_at, revoked_at) > now() + make_interval(days => days), true) and exists (select from public.revision)`;
const AS_SERVICE = `savepoint service_view;
  do $$ begin set local role order_lookup_service; exception when others then null; end $$; set local row_security = off; ${SETTINGS}`;

async function viewOf(client: Client, manager: EntityManager) {
  const refusals: string[] = [];
  const asService = async <T>(refused: string, read: () => Promise<T>) => {
    await manager.query(AS_SERVICE);
    const failed = (error: unknown) => void refusals.push(`${refused}: ${messageOf(error)}`);
    const result = await read().catch(failed);
    await manager.query('rollback to savepoint service_view'); // fails if the connection is lost
    return result || undefined;
  };
  const codes = await asService('the service would not serve the codes', () => readCodes(manager));
  const keys = await asService('callers will be refused: the service could not read its keys', () =>
    manager.query<{ key: string; client: string }[]>(KEYS),
  );
  const faults = await asService('the objects cannot be read', () => objectFaults(client));
  return {
    objects: faults?.map(({ name, fault }) => `the service relies on it: ${name} ${fault}`) ?? [],
    codes: codes ?? { properties: [], values: [], records: [] },
    keys: new Map(keys?.map((row) => [row.key, row.client])),
    refusals,
  };
}
