import { FLAG, TEXT, command } from '../frame/command.js';
import { withReading } from '../frame/connect.js';
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

export const list = command({
  usage: '[--client NAME] [--expiring 30d] [--json]',
  summary: `shows all keys, those of a client, or those that end within a time (${DURATION_UNITS}), and their last use`,
  options: { client: TEXT, expiring: TEXT, json: FLAG },
  run: ({ client: name, expiring }) =>
    withReading(async (database) => {
      const within = expiring === undefined ? null : parseDuration('--expiring', expiring);
      const { rows } = await database.query<ListedKey>(LIST, [name ?? null, within]);
      if (rows.length === 0) return { text: 'There are none.', json: rows };
      const header = lineOf(COLUMNS.map((column) => column.name));
      return { text: [header, ...rows.map(lineOfKey)].join('\n'), json: rows };
    }),
});

function lineOfKey({ id, state, createdAt, endsAt, lastUsedAt, client }: ListedKey): string {
  return lineOf([id, state, momentOrNever(createdAt), momentOrNever(endsAt), momentOrNever(lastUsedAt), client]);
}

function lineOf(cells: readonly string[]): string {
  return COLUMNS.map(({ width }, index) => (cells[index] ?? '').padEnd(width)).join('  ');
}

function momentOrNever(moment: Date | null): string {
  return moment?.toISOString() ?? 'never';
}
