import type { Client } from 'pg';
import { runMigrations } from '../migration-run.js';
import { readAnswers } from './answers.js';
import { type Change, compareAnswers } from './compare-answers.js';

export interface Plan {
  readonly migrations: readonly string[];
  readonly changes: readonly Change[];
}

/** Applies what is pending in one transaction, compares the answers before and after, and rolls back. */
export async function planMigrations(client: Client, folder: string): Promise<Plan> {
  await client.query('begin');
  try {
    const before = await readAnswers(client);
    const migrations = await runMigrations(
      client,
      folder,
      'up',
      Infinity,
      (query) =>
        (...statement) =>
          query(...(BOUNDARIES[String(statement[0])] ?? statement)),
    );
    return { migrations, changes: compareAnswers(before, await readAnswers(client)) };
  } finally {
    await client.query('rollback');
  }
}

/** The runner's own BEGIN and COMMIT around each migration: here all share the transaction that is rolled back, and are checked as at a commit. */
const BOUNDARIES: Record<string, [string]> = {
  'BEGIN;': ['set constraints all deferred'],
  'COMMIT;': ['set constraints all immediate'],
};
