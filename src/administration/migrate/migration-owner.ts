// Checks that the present role can run migrations as the role that owns the tables.
import type { Session } from '../../database/session.js';
import { DOCUMENTED_OWNER } from '../../database/transactions.js';
import { OperatorError } from '../../telemetry/error-message.js';
import { formatCommandLine } from '../cli/program.js';

/**
 * The present role, and the owner of the tables. SET_OWNER (transactions.ts) finds the owner in the same way. If you
 * change only one of the two, migrations run as another role than the one that was checked.
 */
const OWNERSHIP = `
  select
    quote_ident(current_user::text) as role,
    owner.id::regrole::text as owner,
    schema.nspowner::regrole::text as "schemaOwner",
    pgmigrations is null as "isFirst",
    case
      when owner.id = me.oid then true
      -- PostgreSQL lets a superuser set every role. But before the first migration, a superuser in the connection
      -- string is probably a mistake. So this superuser, too, must be a member of the owner
      when pgmigrations is null and me.rolsuper then
        exists (select from pg_auth_members where roleid = owner.id and member = me.oid)
      else pg_has_role(owner.id, $1)
    end as "maySetRole",
    has_schema_privilege(owner.id, schema.oid, 'create') as "mayCreate",
    pg_has_role(owner.id, me.oid, 'member') as "ownerIsMember"
  from to_regclass('public.pgmigrations') as pgmigrations
  join pg_roles as me on me.rolname = current_user
  join pg_namespace as schema on schema.nspname = 'public'
  cross join lateral (
    select coalesce(
      (select relowner from pg_class where oid = pgmigrations::oid),
      -- before the first migration, the tables do not exist
      (select oid from pg_roles where rolname = '${DOCUMENTED_OWNER}'),
      me.oid
    ) as id
  ) as owner`;

interface Ownership {
  readonly role: string;
  readonly owner: string;
  readonly schemaOwner: string;
  readonly isFirst: boolean;
  readonly maySetRole: boolean;
  readonly mayCreate: boolean;
  /** True if the owner is a member of the present role, or a superuser. */
  readonly ownerIsMember: boolean;
}

/** @throws OperatorError if the present role cannot run migrations as the owner, with the statement that helps */
export async function assertOwner(session: Session): Promise<void> {
  const knowsSetOption = session.serverVersion >= 16; // older versions refuse the word `set`
  const { rows } = await session.query<Ownership>(OWNERSHIP, [knowsSetOption ? 'set' : 'member']);
  const [ownership] = rows;
  if (!ownership)
    throw new OperatorError('There is no schema public. As the owner of the database: create schema public;');
  const { role, owner, schemaOwner, isFirst, maySetRole, mayCreate } = ownership;
  if (!maySetRole) {
    const relation = isFirst ? 'must belong' : 'belong';
    throw new OperatorError(
      `The tables ${relation} to ${owner}, and ${role} is not a member of that role, or may not set it (set role). ` +
        `Nothing was changed. ${describeRemedy(ownership, knowsSetOption)}`,
    );
  }
  if (isFirst && !mayCreate) {
    throw new OperatorError(
      `${owner} may not create tables in the schema public, which belongs to ${schemaOwner}. Nothing was changed. ` +
        `Run deploy/database/1-roles.sql in this database, or as ${schemaOwner}: ` +
        `grant usage, create on schema public to ${owner};`,
    );
  }
}

function describeRemedy({ role, owner, ownerIsMember }: Ownership, knowsSetOption: boolean): string {
  if (role === DOCUMENTED_OWNER) {
    return `${formatCommandLine('doctor')} prints the statements that give the tables to ${role}.`;
  }
  // Two roles cannot be members of each other. And if the owner is a superuser, its members can act as a superuser
  if (ownerIsMember) return `Connect as ${owner}.`;
  const grant = `grant ${owner} to ${role}${knowsSetOption ? ' with set true' : ''};`;
  return `Connect as ${owner}, or run as an administrator: ${grant}`;
}
