import type { Client } from 'pg';
import { describe } from '../../telemetry/repeated-failure.js';
import { AdministrationError } from '../frame/command.js';
import { failureOf } from './failure.js';
import type { Statement } from './sql-statements.js';

/** Makes a new session for each migration. */
export type Open = () => Promise<Client>;

/** Key of the advisory lock that serializes runs. It is released when its transaction ends. */
export const LOCK_CLASS = 7_651;
const LOCK = `select pg_advisory_xact_lock(${LOCK_CLASS}, 1)`;

/** How long a run waits for another run, and a migration for a lock. */
const [RUN_TIMEOUT, LOCK_TIMEOUT] = ['120s', '30s'];

/** Settings that a migration may depend on, independent of the defaults of role, database and client. */
const SETTINGS = `set local search_path = public, pg_temp; set local timezone = 'UTC'; set local datestyle = 'ISO, MDY';
  set local intervalstyle = 'postgres'; set local bytea_output = 'hex'; set local standard_conforming_strings = on;
  set local lock_timeout = '${LOCK_TIMEOUT}'; set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0`;

/** The server notices during a statement that a run was killed, and releases its locks. Not every platform supports this. */
const NOTICE_DEATH = `do $$ begin set local client_connection_check_interval = '1s'; exception when others then null; end $$`;

/** The record of changes holds this name, in this transaction. */
const RECORDED_NAME = `select set_config('order_lookup.migration', $1, true)`;

/** Clears what a migration set or opened in its session, also behind a pooler, where the session continues. */
const RESET = `reset session authorization; reset role; reset all; close all; deallocate all; discard temp; discard sequences; unlisten *`;

/** Begins a transaction and waits until no other run of migrations is active. */
export async function beginAlone(client: Client): Promise<void> {
  await client.query(
    `begin isolation level read committed, read write; set local lock_timeout = '${RUN_TIMEOUT}'`,
  );
  await client.query(LOCK).catch((error: unknown) => {
    throw new AdministrationError(
      `Another run of migrations is under way: ${describe(error)}. Wait for its end, and run the command again.`,
    );
  });
}

/** Those of the tables that exist. */
export async function existingTables(client: Client, tables: readonly string[]): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select name from unnest($1::text[]) as name where to_regclass('public.' || name) is not null`,
    [tables],
  );
  return rows.map(({ name }) => name);
}

/**
 * Runs the statements of a migration one by one, so that only checked statements run, and then clears what they left in the session.
 * @throws AdministrationError that names file, line and statement
 */
export async function runStatements(
  client: Client,
  name: string,
  statements: readonly Statement[],
): Promise<void> {
  await client.query(`${SETTINGS}; ${NOTICE_DEATH}`);
  await client.query(RECORDED_NAME, [name]);
  for (const statement of statements) {
    const query = { text: statement.text, queryMode: 'extended' };
    await client.query(query).catch((error: unknown) => {
      throw failureOf(`${name}.sql`, statement, error);
    });
    if (client.getTransactionStatus() !== 'T')
      throw failureOf(`${name}.sql`, statement, new Error('It ended the transaction'));
  }
  await client.query(RESET);
  await client.query(RECORDED_NAME, [name]);
}
