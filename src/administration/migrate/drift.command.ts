// Shows the rows of the view `drift`: changes of codes that no migration made, and changes of keys.
import { Command } from 'commander';
import type { Session } from '../../database/session.js';
import type { TopicName } from '../../following/revision.js';
import { readColumn, withReading } from '../cli/connection.js';
import { showInvisible } from '../cli/invisible-characters.js';
import { type ProgramIo, print } from '../cli/program.js';
import { parseTimeOrDate } from '../cli/time.js';

/** Nobody reads more lines. Many more would exceed the memory of a small container. */
const MAX_SHOWN_CHANGES = 1_000;

/** The changes of topic $1 since $2, by default of 90 days. If you change the 90 days, change the two texts below. */
const DRIFT = `from public.drift
  where topic = $1 and changed_at >= coalesce($2::timestamptz, now() - interval '90 days')`;

/** The login (`database_user`) is certain. The text in brackets is what the session said about itself, true or not. */
const SHOW_DRIFT = `
  select
    pg_catalog.format('%s  %s (%s)  %s %s %s',
      to_char(changed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      database_user,
      pg_catalog.concat_ws(
        ', ', nullif(application, ''), 'claims to be ' || person, 'claims the migration ' || migration
      ),
      operation,
      table_name,
      pg_catalog.concat_ws(' → ', jsonb_strip_nulls(old_row), jsonb_strip_nulls(new_row))
    ) as line
  ${DRIFT}
  order by id
  limit $3`;

const COUNT_DRIFT = `select count(*)::int ${DRIFT}`;

const SUMMARY = 'shows changes of codes that no migration made, and who made them; status 2 if there are any';
const DETAILS =
  'A changed row is listed until a migration writes this row. Changes of API keys are listed separately. ' +
  'They are no drift, and do not change the status.';

export function createDrift(io: ProgramIo): Command {
  return new Command('drift')
    .summary(SUMMARY)
    .description(`${SUMMARY}. ${DETAILS}`)
    .option('--since <DATE>', 'changes since this date; by default the changes of the last 90 days', parseTimeOrDate)
    .action(({ since }: { since?: string }) => withReading((session) => showDrift(io, session, since), io.env));
}

/** Lists changes of keys separately: nothing proves whether a key command made them, so they cannot be called drift. */
async function showDrift(io: ProgramIo, session: Session, sinceTime: string | undefined): Promise<void> {
  const drift = await listChanges(session, 'codes', sinceTime);
  const keyChanges = await listChanges(session, 'keys', sinceTime);
  const period = sinceTime === undefined ? 'in the last 90 days' : `since ${sinceTime}`;
  const lines = drift.length > 0 ? [...drift] : [`No drift ${period}.`];
  if (keyChanges.length > 0) {
    lines.push('', 'Changes of API keys, which are no drift, by login and program:', ...keyChanges);
  }
  print(io, lines.join('\n'));
  if (drift.length > 0) io.exitCode = 2;
}

/** Returns the changes in the order in which they were made. Changes beyond the limit are only counted. */
async function listChanges(session: Session, topic: TopicName, sinceTime: string | undefined): Promise<string[]> {
  const parameters = [topic, sinceTime ?? null];
  const lines = await readColumn(session, SHOW_DRIFT, [...parameters, MAX_SHOWN_CHANGES]);
  const shown = lines.map(showInvisible);
  if (lines.length < MAX_SHOWN_CHANGES) return shown;
  const [count = MAX_SHOWN_CHANGES] = await readColumn<number>(session, COUNT_DRIFT, parameters);
  const others = count - lines.length;
  if (others <= 0) return shown;
  return [...shown, `… and ${others} later changes. To see them, add --since and the time of the line above`];
}
