// The settings of the transactions of the commands. What role, database and connection string set is overridden.
import { escapeLiteral } from 'pg';
import { type Session, settingsFor } from '../../database/session.js';

/** Nobody waits for a reading, and over a large change history a statement takes minutes. */
export function beginReading(session: Session): string {
  const begin = 'begin isolation level repeatable read, read only, not deferrable';
  return `${begin}; ${settingsFor(session, { statement: '0', lock: '10s', idle: '1min', rowSecurity: 'off' })}`;
}

export function beginWriting(session: Session): string {
  const begin = 'begin isolation level read committed, read write, not deferrable';
  return `${begin}; ${writingSettings(session)}`;
}

/**
 * Others wait for a session that writes. So it is closed within 15 s where its client, or the way to it, is gone:
 * by the limit of idle transactions between two statements, by keep-alive during a statement, and at once where the
 * platform can notice a closed connection during a statement; where it cannot, PostgreSQL refuses
 * `client_connection_check_interval`.
 */
export function writingSettings(session: Session): string {
  return [
    // as in psql: `off` would refuse what a migration writes beside a policy of its own
    settingsFor(session, { statement: '0', lock: '30s', idle: '10s', rowSecurity: 'on' }),
    'set local tcp_keepalives_idle = 5',
    'set local tcp_keepalives_interval = 5',
    'set local tcp_keepalives_count = 2',
    `set local tcp_user_timeout = '15s'`,
    `do $$ begin
      set local client_connection_check_interval = '100ms';
    exception when others then null; end $$`,
    ...personSettings(),
  ].join('; ');
}

/** Who is at the keyboard, for the change history. */
function personSettings(): string[] {
  const person = process.env['ORDER_LOOKUP_PERSON'] ?? '';
  return person === '' ? [] : [`set local order_lookup.person = ${escapeLiteral(person)}`];
}
