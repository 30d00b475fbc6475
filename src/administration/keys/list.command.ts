import { command } from '../frame/command.js';
import { withDatabase } from '../frame/connect.js';
import { KEY_COLUMNS, type KeyRow, momentIn } from './keys.js';

export const list = command({
  usage: '[--expiring 30d] [--json]',
  summary: 'shows all keys, or those that end within a time: state, creation, expiry and last use',
  options: { expiring: { type: 'string' }, json: { type: 'boolean' } },
  async run({ expiring }) {
    const until = expiring === undefined ? null : momentIn('--expiring', expiring);
    const { rows } = await withDatabase((client) =>
      client.query<KeyRow & { lastUsedAt: Date | null }>(
        `select ${KEY_COLUMNS}, last_used_at as "lastUsedAt" from api_key left join api_key_use on key_id = id
         where $1::timestamptz is null or (least(expires_at, revoked_at) > now() and least(expires_at, revoked_at) <= $1)
         order by client, created_at`,
        [until],
      ),
    );
    const lines = rows.map((row) =>
      [
        row.id,
        (row.state === 'ends' ? `ends ${time(row.revokedAt)}` : row.state).padEnd(29),
        `created ${time(row.createdAt)}`,
        (row.expiresAt ? `expires ${time(row.expiresAt)}` : 'no expiry').padEnd(32),
        (row.lastUsedAt ? `used ${time(row.lastUsedAt)}` : 'never used').padEnd(29),
        row.client,
      ].join('  '),
    );
    return { text: lines.join('\n') || 'There are none.', json: rows };
  },
});

const time = (moment: Date | null): string => moment?.toISOString() ?? '';
