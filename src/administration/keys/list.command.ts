import { Command } from 'commander';
import { print, printJson } from '../cli/program.js';
import { withReading } from '../cli/transaction.js';
import { DURATION_UNITS, parseDuration } from './duration.js';
import { KEY_STATE } from './key-state.js';

interface ListedKey {
  readonly id: string;
  readonly client: string;
  readonly state: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  /** The earlier one of the two. */
  readonly endsAt: Date | null;
  readonly lastUsedAt: Date | null;
}

/** $1 is a client or null, $2 a time in which a key has to end or null. */
const LIST = `
  select id, client, ${KEY_STATE} as state, created_at as "createdAt", expires_at as "expiresAt",
    revoked_at as "revokedAt", least(expires_at, revoked_at) as "endsAt", last_used_at as "lastUsedAt"
  from api_key
  left join api_key_use on key_id = id
  where client = coalesce($1, client)
    and ($2::interval is null or least(expires_at, revoked_at) between now() and now() + $2)
  order by client, created_at`;

const COLUMNS = [
  { name: 'id', width: 36 },
  { name: 'state', width: 8 },
  { name: 'created', width: 24 },
  { name: 'ends', width: 24 },
  { name: 'used', width: 24 },
  { name: 'client', width: 0 },
];

interface ListOptions {
  readonly client?: string;
  readonly expiring?: string;
  readonly json?: true;
}

export const list = new Command('list')
  .description('shows all keys, and their last use')
  .option('--client <NAME>', 'those of a client')
  .option('--expiring <TIME>', `those that end within a time such as 30d (${DURATION_UNITS})`, (text) =>
    parseDuration('--expiring', text),
  )
  .option('--json', 'print them for programs')
  .action(async ({ client, expiring, json }: ListOptions) => {
    const values = [client ?? null, expiring ?? null];
    const { rows } = await withReading((session) => session.query<ListedKey>(LIST, values));
    if (json) printJson(rows);
    else print(describeKeys(rows));
  });

function describeKeys(keys: readonly ListedKey[]): string {
  if (keys.length === 0) return 'There are none.';
  const header = lineOf(COLUMNS.map((column) => column.name));
  return [header, ...keys.map(lineOfKey)].join('\n');
}

function lineOfKey({ id, state, createdAt, endsAt, lastUsedAt, client }: ListedKey): string {
  return lineOf([id, state, momentOrNever(createdAt), momentOrNever(endsAt), momentOrNever(lastUsedAt), client]);
}

function lineOf(cells: readonly string[]): string {
  return COLUMNS.map(({ width }, index) => (cells[index] ?? '').padEnd(width)).join('  ');
}

function momentOrNever(moment: Date | null): string {
  return moment?.toISOString() ?? 'never';
}
