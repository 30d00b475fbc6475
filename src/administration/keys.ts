// The commands `keys issue`, `list`, `rotate` and `revoke`.
import { Command, InvalidArgumentError } from 'commander';
import { generateApiKey, hashApiKey } from '../auth/api-keys/api-key.js';
import type { DatabaseAddress } from '../configuration/database-url.js';
import type { Session } from '../database/session.js';
import { OperatorError } from '../telemetry/error-message.js';
import { readColumn, withReading, withWriting } from './cli/connection.js';
import { showInvisible } from './cli/invisible-characters.js';
import { type ProgramIo, formatCommandLine, print, printJson } from './cli/program.js';

/**
 * An SQL expression for the state of a key, by the database's clock. A key in the state `rotated` still works until
 * `revoked_at`. If you change the expression, change the check in `ApiKeysService`, or commands and service disagree.
 */
export const KEY_STATE = `case
    when revoked_at <= now() then 'revoked'
    when expires_at <= now() then 'expired'
    when revoked_at is not null then 'rotated'
    else 'in force'
  end`;

/** The name of these commands in the change history. The name proves nothing, because any session can set it. */
const APPLICATION = 'order-lookup-keys';

/** The latest time that a constraint of `api_key` permits. If a lifetime is longer, the key ends at this time. */
const LAST_TIME = '9999-12-31Z';

/** Compares the id as text. A cast to uuid would fail with a message that repeats $1, which may be a key. */
const HAS_ID = 'id::text = lower($1)';

/** The units of a duration: the letter on the command line, and the word in an interval of PostgreSQL. */
const UNITS: Readonly<Record<string, string>> = {
  m: 'minutes',
  h: 'hours',
  d: 'days',
  w: 'weeks',
  y: 'years',
};
const UNITS_HELP = Object.entries(UNITS)
  .map(([letter, unit]) => `${letter} ${unit}`)
  .join(', ');

/** An interval of PostgreSQL, such as `90 days`. */
type Interval = string;

interface IssueOptions {
  readonly client?: string;
  readonly expiresIn?: Interval;
  readonly json?: true;
}

export function createIssue(io: ProgramIo): Command {
  return (
    new Command('issue')
      .description('makes a key, stores its hash and prints the key once')
      // Not a requiredOption: if another option is misspelt, commander would say that --client is missing
      .option('--client <NAME>', 'needed: whose key it is, such as "Acme TMS"')
      .option('--expires-in <TIME>', `such as 90d (${UNITS_HELP}); without it the key never expires`, parseDuration)
      .option('--json', 'print JSON for programs')
      .action(async ({ client, expiresIn, json }: IssueOptions) => {
        if (client === undefined) {
          throw new OperatorError(`Say whose key it is: ${formatCommandLine('keys', 'issue --client "Acme TMS"')}`);
        }
        const issued = await changeKeys(io.env, (session) =>
          insertKey(session, { client, lifetime: expiresIn ?? null }),
        );
        const { id, key, expiresAt } = issued;
        if (json) printJson(io, { id, client, key, expiresAt });
        else print(io, describeIssued('Key', issued));
      })
  );
}

interface ListOptions {
  readonly client?: string;
  readonly expiring?: Interval;
  readonly json?: true;
}

interface KeyRow {
  readonly id: string;
  readonly client: string;
  readonly state: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  /** The earlier of `expiresAt` and `revokedAt`. */
  readonly endsAt: Date | null;
  readonly lastUsedAt: Date | null;
}

/** $1 is a client, or null for all clients. $2 is an interval within which the keys end, or null for all keys. */
const LIST = `
  select id, client, ${KEY_STATE} as state, created_at as "createdAt", expires_at as "expiresAt",
    revoked_at as "revokedAt", least(expires_at, revoked_at) as "endsAt", last_used_at as "lastUsedAt"
  from api_key
  left join api_key_use on key_id = id
  where client = coalesce($1, client)
    and ($2::interval is null or least(expires_at, revoked_at) between now() and now() + $2)
  order by client, created_at`;

export function createList(io: ProgramIo): Command {
  return new Command('list')
    .description('shows all keys, and their last use')
    .option('--client <NAME>', 'only the keys of this client')
    .option('--expiring <TIME>', `only keys that end within a time such as 30d (${UNITS_HELP})`, parseDuration)
    .option('--json', 'print JSON for programs')
    .action(async ({ client, expiring, json }: ListOptions) => {
      const values = [client ?? null, expiring ?? null];
      const { rows } = await withReading((session) => session.query<KeyRow>(LIST, values), io.env);
      if (json) printJson(io, rows);
      else print(io, describeKeys(rows));
    });
}

function describeKeys(keys: readonly KeyRow[]): string {
  if (keys.length === 0) return 'No key was found.';
  const header = describeKey({
    id: 'id',
    state: 'state',
    created: 'created',
    until: 'until',
    used: 'used',
    client: 'client',
  });
  const lines = keys.map(({ id, state, createdAt, endsAt, lastUsedAt, client }) =>
    describeKey({
      id,
      state,
      created: createdAt.toISOString(),
      until: formatTimeOrNever(endsAt),
      used: formatTimeOrNever(lastUsedAt),
      client: showInvisible(client),
    }),
  );
  return [header, ...lines].join('\n');
}

/** Returns one line of the table. The widths are those of a UUID, the longest state and a time. */
function describeKey(cells: Record<'id' | 'state' | 'created' | 'until' | 'used' | 'client', string>): string {
  const { id, state, created, until, used, client } = cells;
  return [id.padEnd(36), state.padEnd(8), created.padEnd(24), until.padEnd(24), used.padEnd(24), client].join('  ');
}

function formatTimeOrNever(time: Date | null): string {
  return time?.toISOString() ?? 'never';
}

interface RotateOptions {
  readonly overlap: Interval;
  readonly json?: true;
}

interface FormerKey {
  readonly id: string;
  readonly client: string;
  /** The time from creation to expiry. Null if the key never expires. */
  readonly lifetime: Interval | null;
  readonly endsAt: Date;
}

/** If a key is rotated twice at the same time, the second update waits, then finds it `rotated`, and changes no row. */
const REVOKE_LATER = `
  update api_key set revoked_at = least(now() + $2::interval, '${LAST_TIME}')
  where ${HAS_ID} and ${KEY_STATE} = 'in force'
  returning id, client, (expires_at - created_at)::text as lifetime, least(revoked_at, expires_at) as "endsAt"`;

export function createRotate(io: ProgramIo): Command {
  return new Command('rotate')
    .description('issues a second key of the same client and lifetime, and sets when the first key is revoked')
    .argument('<KEY_ID>')
    .option('--overlap <TIME>', `how long both keys are valid, such as 7d (${UNITS_HELP})`, parseDuration, '7 days')
    .option('--json', 'print JSON for programs')
    .action(async (id: string, { overlap, json }: RotateOptions) => {
      const { issued, former } = await rotateKey(io.env, id, overlap);
      const end = `The first one, ${former.id}, is valid until ${former.endsAt.toISOString()}.`;
      if (json) printJson(io, { ...issued, former: { id: former.id, endsAt: former.endsAt } });
      else print(io, `${describeIssued('Second key', issued)}\n${end}`);
    });
}

function rotateKey(address: DatabaseAddress, id: string, overlap: Interval) {
  return changeKeys(address, async (session) => {
    const { rows } = await session.query<FormerKey>(REVOKE_LATER, [id, overlap]);
    const [former] = rows;
    if (!former) throw await explainRefusedRotation(session, id);
    return { issued: await insertKey(session, { client: former.client, lifetime: former.lifetime }), former };
  });
}

async function explainRefusedRotation(session: Session, id: string): Promise<OperatorError> {
  const [state] = await readColumn(session, `select ${KEY_STATE} from api_key where ${HAS_ID}`, [id]);
  if (state === undefined) return createUnknownIdError();
  const issue = formatCommandLine('keys', 'issue');
  return new OperatorError(
    `The key is ${state}. Only a key with the state "in force" can be rotated. To issue a new key: ${issue}`,
  );
}

interface RevokedKey {
  readonly id: string;
  readonly client: string;
  readonly revokedAt: Date;
}

/** If a key was revoked before, it keeps the earlier time. */
const REVOKE = `
  update api_key set revoked_at = least(revoked_at, now()) where ${HAS_ID}
  returning id, client, revoked_at as "revokedAt"`;

export function createRevoke(io: ProgramIo): Command {
  return new Command('revoke')
    .description('revokes a key now, even if it was rotated')
    .argument('<KEY_ID>')
    .action(async (id: string) => {
      const key = await changeKeys(io.env, async (session) => {
        const { rows } = await session.query<RevokedKey>(REVOKE, [id]);
        if (!rows[0]) throw createUnknownIdError();
        return rows[0];
      });
      print(
        io,
        `The key ${key.id} of ${showInvisible(key.client)} has been revoked since ${key.revokedAt.toISOString()}.`,
      );
    });
}

/** Runs the work in one transaction. The change history names APPLICATION as the program. */
function changeKeys<T>(address: DatabaseAddress, work: (session: Session) => Promise<T>): Promise<T> {
  return withWriting(async (session) => {
    await session.query(`set local application_name = '${APPLICATION}'`);
    return work(session);
  }, address);
}

interface IssuedKey {
  readonly id: string;
  readonly client: string;
  /** The secret itself. It is printed once, and only its hash is stored. */
  readonly key: string;
  readonly expiresAt: Date | null;
}

interface NewKey {
  readonly client: string;
  /** Null for a key that never expires. */
  readonly lifetime: Interval | null;
}

async function insertKey(session: Session, { client, lifetime }: NewKey): Promise<IssuedKey> {
  const key = generateApiKey();
  const { rows } = await session.query<Omit<IssuedKey, 'key'>>(
    `insert into api_key (client, key_hash, expires_at)
     values ($1, decode($2, 'hex'),
       case when $3::interval is not null then least(now() + $3::interval, '${LAST_TIME}') end)
     returning id, client, expires_at as "expiresAt"`,
    [client, hashApiKey(key), lifetime],
  );
  const [row] = rows;
  if (!row) throw new Error('PostgreSQL returned no row of the new key');
  return { ...row, key };
}

function describeIssued(title: 'Key' | 'Second key', { id, client, key, expiresAt }: IssuedKey): string {
  const expiry = expiresAt ? `expires at ${expiresAt.toISOString()}` : 'never expires';
  return `${title} of ${showInvisible(client)}, shown this once:\n\n  ${key}\n\nIts id is ${id}; it ${expiry}.`;
}

/** Returns an error that does not repeat what was typed: somebody may have typed a key instead of an id. */
function createUnknownIdError(): OperatorError {
  return new OperatorError(`There is no key with this id. To see the ids: ${formatCommandLine('keys', 'list')}`);
}

function parseDuration(text: string): Interval {
  const amount = text.slice(0, -1);
  const unit = UNITS[text.slice(-1)];
  const isAmount = /^[1-9]\d{0,3}$/.test(amount); // 1 to 9999
  if (unit === undefined || !isAmount) {
    throw new InvalidArgumentError(`Write a number from 1 to 9999 and a unit, such as 90d (${UNITS_HELP}).`);
  }
  return `${amount} ${unit}`;
}
