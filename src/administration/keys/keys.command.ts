import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import type { Client } from 'pg';
import { generateApiKey, hashApiKey } from '../../auth/api-keys/api-key.js';
import { AdministrationError, connect } from '../command/connect.js';

const USAGE = `Usage: keys issue --client NAME [--expires-in 90d] [--json | --sql]
       keys list [--json]
       keys revoke KEY_ID
A key is shown once, when it is issued. --sql prints an INSERT for a migration and needs no database.
The database is the one at DATABASE_URL.`;

const UNITS: Record<string, number> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
  y: 31_536_000_000,
};
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export async function keys(words: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: words,
    allowPositionals: true,
    options: {
      client: { type: 'string' },
      'expires-in': { type: 'string' },
      json: { type: 'boolean' },
      sql: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  const [command, id, ...rest] = positionals;
  if (values.help) return print(USAGE);
  if (rest.length > 0 || (id !== undefined && command !== 'revoke'))
    throw new AdministrationError(USAGE);
  if (command === 'issue') return issue(values);
  if (command === 'list') return withDatabase((client) => list(client, values.json === true));
  if (command === 'revoke') return revoke(id);
  throw new AdministrationError(USAGE);
}

interface IssueOptions {
  readonly client?: string | undefined;
  readonly 'expires-in'?: string | undefined;
  readonly json?: boolean | undefined;
  readonly sql?: boolean | undefined;
}

async function issue({
  client: name,
  'expires-in': expiresIn,
  json,
  sql,
}: IssueOptions): Promise<void> {
  if (
    name === undefined ||
    name.trim() !== name ||
    name === '' ||
    name.length > 128 ||
    /\p{Cc}/u.test(name)
  ) {
    throw new AdministrationError(
      '--client is missing or not a name: give the client that the key is for, 1 to 128 characters, such as --client "Acme TMS".',
    );
  }
  if (json && sql)
    throw new AdministrationError('--json and --sql exclude each other: choose one.');
  const expiresAt = expiryOf(expiresIn);
  const key = generateApiKey();
  const row = { id: randomUUID(), client: name, hash: hashApiKey(key), expiresAt };
  if (sql) {
    process.stderr.write(`Key of ${name}, shown this once: ${key}\n`);
    const literal = (text: string | null): string =>
      text === null ? 'null' : `'${text.replaceAll("'", "''")}'`;
    return print(
      `insert into api_key (id, client, key_hash, expires_at) values (${literal(row.id)}, ${literal(name)}, '\\x${row.hash}', ${literal(expiresAt)});`,
    );
  }
  await withDatabase((client) =>
    client.query(
      `insert into api_key (id, client, key_hash, expires_at) values ($1, $2, decode($3, 'hex'), $4)`,
      [row.id, name, row.hash, expiresAt],
    ),
  );
  if (json) return print(JSON.stringify({ id: row.id, client: name, key, expiresAt }));
  return print(
    `Key of ${name}, shown this once:\n\n  ${key}\n\nIts id is ${row.id}; it ${expiresAt ? `expires at ${expiresAt}` : 'does not expire'}.`,
  );
}

function expiryOf(duration: string | undefined): string | null {
  if (duration === undefined) return null;
  const [, count, unit] = /^([1-9]\d{0,4})([mhdwy])$/.exec(duration) ?? [];
  if (!count || !unit)
    throw new AdministrationError(
      `--expires-in is "${duration}": a number and a unit are needed, such as 90d (m, h, d, w or y).`,
    );
  const expiresAt = new Date(Date.now() + Number(count) * (UNITS[unit] as number));
  if (expiresAt.getUTCFullYear() > 9998)
    throw new AdministrationError(
      `--expires-in is "${duration}": the key would outlive the year 9998.`,
    );
  return expiresAt.toISOString();
}

interface KeyRow {
  id: string;
  client: string;
  created_at: Date;
  expires_at: Date | null;
  revoked_at: Date | null;
}

async function list(client: Client, json: boolean): Promise<void> {
  const { rows } = await client.query<KeyRow>(
    'select id, client, created_at, expires_at, revoked_at from api_key order by client, created_at',
  );
  const state = ({ expires_at: expires, revoked_at: revoked }: KeyRow): string =>
    revoked && revoked.getTime() <= Date.now()
      ? 'revoked'
      : expires && expires.getTime() <= Date.now()
        ? 'expired'
        : 'active';
  if (json) {
    return print(
      JSON.stringify(
        rows.map((row) => ({
          id: row.id,
          client: row.client,
          state: state(row),
          createdAt: row.created_at,
          expiresAt: row.expires_at,
          revokedAt: row.revoked_at,
        })),
      ),
    );
  }
  print(
    rows.length === 0
      ? 'There are no keys.'
      : rows
          .map(
            (row) =>
              `${row.id}  ${state(row).padEnd(7)}  ${row.created_at.toISOString()}  ${row.client}`,
          )
          .join('\n'),
  );
}

async function revoke(id: string | undefined): Promise<void> {
  if (!id || !UUID.test(id))
    throw new AdministrationError(
      'The id of the key is missing or not one: keys list shows the ids.',
    );
  await withDatabase(async (client) => {
    const { rowCount } = await client.query(
      'update api_key set revoked_at = now() where id = $1 and revoked_at is null',
      [id],
    );
    if (rowCount) return print(`The key ${id} is revoked.`);
    const { rows } = await client.query<KeyRow>('select revoked_at from api_key where id = $1', [
      id,
    ]);
    if (!rows[0])
      throw new AdministrationError(`There is no key with the id ${id}: keys list shows the ids.`);
    print(`The key ${id} was revoked at ${rows[0].revoked_at?.toISOString()} already.`);
  });
}

async function withDatabase(work: (client: Client) => Promise<unknown>): Promise<void> {
  const client = await connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
