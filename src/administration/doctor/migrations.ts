import type { Client } from 'pg';
import { commandLine } from '../cli/program.js';
import { describeMissing, readState } from '../migrate/migration-state.js';
import { type Finding, fault, ok, warning } from './finding.js';

export async function examineMigrations(client: Client): Promise<Finding> {
  const state = await readState(client);
  const { pending, missing } = state;
  if (pending.length > 0)
    return fault(`pending: ${pending.join(', ')}`, `As the owner: ${commandLine('migrate', 'up')}`);
  if (missing.length > 0) return warning(describeMissing(state).join(' '), 'Nothing, if a newer release applied it.');
  return ok('all applied');
}
