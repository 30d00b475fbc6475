import type { Client } from 'pg';
import { typed } from '../frame/command.js';
import { readState } from '../migrate/migration-files.js';
import { type Finding, fault, ok, warning } from './finding.js';

export async function examineMigrations(client: Client): Promise<Finding> {
  const { pending, gone } = await readState(client);
  if (pending.length > 0)
    return fault(`pending: ${pending.join(', ')}`, `As the owner: ${typed('migrate', 'up')}`);
  if (gone.length > 0) return warning(gone.join(' '), 'Is it a newer release?');
  return ok('all applied');
}
