import { command } from '../frame/command.js';
import { withDatabase } from '../frame/connect.js';

interface KeyRow {
  id: string;
  client: string;
  created_at: Date;
  expires_at: Date | null;
  revoked_at: Date | null;
}

const stateOf = ({ expires_at: expires, revoked_at: revoked }: KeyRow): string =>
  revoked && revoked.getTime() <= Date.now()
    ? 'revoked'
    : expires && expires.getTime() <= Date.now()
      ? 'expired'
      : 'active';

export const list = command({
  usage: '[--json]',
  summary: 'shows all keys and their states',
  options: { json: { type: 'boolean' } },
  run: () =>
    withDatabase(async (client) => {
      const { rows } = await client.query<KeyRow>(
        'select id, client, created_at, expires_at, revoked_at from api_key order by client, created_at',
      );
      return {
        text:
          rows
            .map(
              (row) =>
                `${row.id}  ${stateOf(row).padEnd(7)}  ${row.created_at.toISOString()}  ${row.client}`,
            )
            .join('\n') || 'There are no keys.',
        json: rows.map((row) => ({
          id: row.id,
          client: row.client,
          state: stateOf(row),
          createdAt: row.created_at,
          expiresAt: row.expires_at,
          revokedAt: row.revoked_at,
        })),
      };
    }),
});
