import { command } from '../frame/command.js';
import { withDatabase } from '../frame/connect.js';
import { KEY_COLUMNS, type KeyRow } from './keys.js';

export const list = command({
  usage: '[--json]',
  summary: 'shows all keys: state, expiry and last use',
  options: { json: { type: 'boolean' } },
  run: () =>
    withDatabase(async (client) => {
      const { rows } = await client.query<KeyRow & { lastUsedAt: Date | null }>(
        `select ${KEY_COLUMNS}, last_used_at as "lastUsedAt" from api_key left join api_key_use on key_id = id
         order by client, created_at`,
      );
      const said = rows.map((row) => [
        row.id,
        row.state === 'ends' ? `ends ${time(row.revokedAt)}` : row.state,
        row.expiresAt ? `expires ${time(row.expiresAt)}` : 'no expiry',
        row.lastUsedAt ? `used ${time(row.lastUsedAt)}` : 'never used',
        row.client,
      ]);
      const widths = [0, 1, 2, 3].map((at) =>
        Math.max(...said.map((cells) => cells[at]?.length ?? 0)),
      );
      const lines = said.map((cells) =>
        cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  '),
      );
      return { text: lines.join('\n') || 'There are no keys.', json: rows };
    }),
});

const time = (moment: Date | null): string => moment?.toISOString() ?? '';
