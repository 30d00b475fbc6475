// Settings of the transactions of the commands. Each is set for one transaction (`set local`): behind a pooler the
// session is another client's afterwards. What role, database and connection string set is overridden.
import { escapeLiteral } from 'pg';
import { SETTINGS } from '../../database/session.js';

/** No limit for statements: over a large record of changes one takes minutes. Nobody waits for a reading. */
const READING = [
  SETTINGS,
  'set local statement_timeout = 0',
  'set local row_security = off', // a policy makes the reading fail; with `on` it would silently see fewer rows
  `set local lock_timeout = '10s'`,
  `set local idle_in_transaction_session_timeout = '1min'`,
];

/**
 * Others wait for a session that writes. So it ends by itself within 15 s where its client, or the way to it, is gone:
 * by the limit of idle transactions between two statements, by keep-alive during a statement, and at once where the
 * platform can notice a closed connection during a statement; where it cannot, PostgreSQL refuses
 * `client_connection_check_interval`. COMMIT_LIMIT_MS of commit.ts has to stay longer than that.
 */
const WRITING = [
  SETTINGS,
  'set local statement_timeout = 0',
  'set local row_security = on', // as in psql: `off` would refuse what a migration writes beside a policy of its own
  `set local lock_timeout = '30s'`,
  `set local idle_in_transaction_session_timeout = '10s'`,
  'set local tcp_keepalives_idle = 5',
  'set local tcp_keepalives_interval = 5',
  'set local tcp_keepalives_count = 2',
  `set local tcp_user_timeout = '15s'`,
  `do $$ begin
    set local client_connection_check_interval = '100ms';
  exception when others then null; end $$`,
];

export const BEGIN_READING = ['begin isolation level repeatable read, read only, not deferrable', ...READING].join(
  '; ',
);

export function beginWriting(): string {
  const begin = 'begin isolation level read committed, read write, not deferrable';
  return `${begin}; ${writingSettings()}`;
}

export function writingSettings(): string {
  return [...WRITING, ...personSettings()].join('; ');
}

/** Who is at the keyboard, for the record of changes. */
function personSettings(): string[] {
  const person = process.env['ORDER_LOOKUP_PERSON'] ?? '';
  return person === '' ? [] : [`set local order_lookup.person = ${escapeLiteral(person)}`];
}
