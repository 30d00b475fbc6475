import type { Client } from 'pg';
import { commandLine } from '../cli/program.js';
import { type Finding, fault, ok, warning } from './finding.js';

/** Against an error, which is that the role may not even use the schema. */
export const ROLE_REMEDY = 'Use the role order_lookup_service, or as the owner: grant usage on schema public to ROLE;';

/**
 * The tables that the service reads. One that it comes to read has to be added here, with the grant in its migration:
 * otherwise the doctor finds nothing where the service may not read it. The privileges of a table that is not there are
 * null.
 */
const RIGHTS = `
  select
    current_user as role,
    coalesce(array_agg(name) filter (where may_read is null), '{}') as missing,
    coalesce(array_agg(name) filter (where not may_read), '{}') as unread,
    coalesce(bool_or(may_write), false) as "canWrite"
  from unnest(array[
    'revision', 'area_property', 'code_list_value', 'communication_code', 'api_key'
  ]) as name
  cross join lateral (select to_regclass('public.' || name) as id) as found
  cross join lateral (
    select
      has_table_privilege(id, 'select') as may_read,
      has_table_privilege(id, 'insert, update, delete, truncate') as may_write
  ) as privileges`;

interface Rights {
  readonly role: string;
  readonly missing: readonly string[];
  readonly unread: readonly string[];
  readonly canWrite: boolean;
}

export async function examineRole(client: Client): Promise<Finding> {
  const { rows } = await client.query<Rights>(RIGHTS);
  const [rights] = rows;
  if (!rights) throw new Error('PostgreSQL does not tell what the role may');
  const { role, missing, unread, canWrite } = rights;
  if (missing.length > 0) {
    const remedy = `It is no matter of the role. As the owner: ${commandLine('migrate', 'up')}`;
    return fault(`there is nothing to read yet: ${missing.join(', ')} is missing`, remedy);
  }
  if (unread.length > 0) {
    const tables = unread.map((name) => `public.${name}`).join(', ');
    const remedy = `As the owner: grant select on ${tables} to ${role};`;
    return fault(`${role} may not read ${unread.join(', ')}`, remedy);
  }
  const text = `${role} may read all that the service needs`;
  if (!canWrite) return ok(text);
  return warning(`${text}, and may write too`, 'Right for migrations alone.');
}
