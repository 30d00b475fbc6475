import type { Client } from 'pg';
import { type Finding, fault, ok, warning } from './finding.js';

export const ROLE_REMEDY =
  'Use the role order_lookup_service, or as the owner: grant usage on schema public to ROLE;';

const RIGHTS = `
  select
    current_user as role,
    array_remove(array_agg(case when not has_table_privilege(name, 'select') then name end), null) as unread,
    bool_or(has_table_privilege(name, 'insert, update, delete, truncate')) as "canWrite"
  from unnest(array[
    'public.revision', 'public.area_property', 'public.code_list_value', 'public.communication_code', 'public.api_key'
  ]) as name`;

interface Rights {
  readonly role: string;
  readonly unread: readonly string[];
  readonly canWrite: boolean;
}

export async function examineRole(client: Client): Promise<Finding> {
  const { rows } = await client.query<Rights>(RIGHTS);
  const { role = '', unread = [], canWrite = false } = rows[0] ?? {};
  const tables = unread.map((name) => name.replace('public.', '')).join(', ');
  if (unread.length > 0)
    return fault(
      `${role} may not read ${tables}`,
      `As the owner: grant select on ${unread.join(', ')} to ${role};`,
    );
  const text = `${role} may read all that the service needs`;
  return canWrite ? warning(`${text}, and may write too`, 'Right for migrations alone.') : ok(text);
}
