import type { Client } from 'pg';
import type { EntityManager } from 'typeorm';
import { readCodes } from '../../lookups/read-codes.js';
import { commandLine } from '../cli/program.js';
import { columnOf } from '../cli/transaction.js';
import { KEY_STATE } from '../keys.js';
import { type Finding, ok, warning } from './finding.js';

const KEYS_IN_FORCE = `select count(*)::int from public.api_key where ${KEY_STATE} in ('in force', 'rotated')`;

/** @throws UnservableRows if the service would refuse the codes */
export async function examineContents(client: Client, manager: EntityManager): Promise<Finding> {
  const { values, records } = await readCodes(manager);
  const [keyCount = 0] = await columnOf<number>(client, KEYS_IN_FORCE);
  const text = `${values.length} values, ${records.length} communication codes, ${keyCount} API keys in force`;
  return keyCount > 0 ? ok(text) : warning(text, `Issue a key: ${commandLine('keys', 'issue --client NAME')}`);
}
