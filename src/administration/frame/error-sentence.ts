import { DatabaseError } from 'pg';
import { messageOf } from '../../telemetry/error-message.js';
import { AdministrationError, typed } from './command.js';

/** Against refusals of PostgreSQL, by SQLSTATE. */
const REMEDIES: Readonly<Record<string, () => string>> = {
  '42P01': () => `. Apply the migrations first: ${typed('migrate', 'up')}`,
  42501: () => '. DATABASE_URL has to name a role that may, such as order_lookup_owner.',
};

/** What people read of an error that ends a command. */
export function sentenceOf(error: unknown): string {
  if (error instanceof AdministrationError) return messageOf(error);
  const origin = error instanceof DatabaseError ? 'PostgreSQL refused this: ' : '';
  const { code = '' } = error as { readonly code?: string }; // TypeORM's errors have it, too
  const remedy = REMEDIES[code];
  return `${origin}${messageOf(error)}${remedy ? remedy() : ''}`;
}
