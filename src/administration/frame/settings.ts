// Settings of the transactions of the commands. They are those of one transaction, since behind a pooler the session is
// another client's afterwards, and they do not depend on what role, database and connection string set.
import { escapeLiteral } from 'pg';
import { SETTINGS } from '../../database/session.js';

const READING = [
  SETTINGS,
  'set local statement_timeout = 0',
  'set local row_security = off',
  `set local lock_timeout = '10s'`,
  `set local idle_in_transaction_session_timeout = '1min'`,
];

/**
 * The session ends soon after its client or the way to it is gone. Not every platform can notice that during a
 * statement: there `client_connection_check_interval` is refused.
 */
const WRITING = [
  SETTINGS,
  'set local statement_timeout = 0',
  'set local row_security = on',
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

export const BEGIN_READING = [
  'begin isolation level repeatable read, read only, not deferrable',
  ...READING,
].join('; ');

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
