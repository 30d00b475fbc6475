import { AdministrationError, command } from '../../frame/command.js';
import { withDatabase } from '../../frame/connect.js';
import { parseTime } from '../../frame/time.js';
import { type ForeignChange, migrationOf, readDrift } from '../drift.js';
import { createMigration } from '../migration-files.js';

/** How many changes are shown. */
const SHOWN = 1_000;

export const drift = command({
  usage: '[--since DATE] [--to-migration NAME | --json]',
  summary:
    'shows what was changed by anything but migrations and the key commands since DATE (90 days ago), and by whom, and triggers that are missing or off; status 2 where there is something; with --to-migration writes the migration that these changes should have been',
  options: {
    since: { type: 'string' },
    'to-migration': { type: 'string' },
    json: { type: 'boolean' },
  },
  run: ({ since, 'to-migration': name }) =>
    withDatabase(async (client) => {
      const found = await readDrift(client, since === undefined ? undefined : timeOf(since));
      const { changes, triggers } = found;
      if (name !== undefined) {
        const text = migrationOf(found, 'What was changed by hand');
        if (text === undefined)
          throw new AdministrationError('No code was changed by hand. Nothing was written.');
        const left = changes.some(({ table }) => table === 'api_key')
          ? '\nChanges of API keys are left out: the record does not hold their hashes.'
          : '';
        return { text: `created ${await createMigration(name, text)}${left}` };
      }
      const lines = changes.slice(0, SHOWN).map(describeChange);
      if (changes.length > SHOWN) lines.push(`… and ${changes.length - SHOWN} more`);
      for (const said of triggers)
        lines.push(
          `${said}: changes since then are not in the record. Apply the migration that made it again, or: alter table … enable always trigger …`,
        );
      return {
        text: lines.join('\n') || 'Only migrations and the key commands changed something.',
        json: found,
        found: lines.length > 0,
      };
    }),
});

function timeOf(since: string): string {
  const text = /^\d{4}-\d{2}-\d{2}$/.test(since) ? `${since}T00:00:00Z` : since;
  if (parseTime(text) === undefined)
    throw new AdministrationError(
      `--since is "${since}": a date such as 2027-01-01 or a date-time of RFC 3339 is needed.`,
    );
  return text;
}

function describeChange(change: ForeignChange): string {
  const { changedAt, by, application, person, migration, operation, table, before, after } = change;
  const claims = [
    application,
    person ? `says to be ${person}` : '',
    migration ? `claims the migration ${migration}` : '',
  ].filter((claim) => claim !== '');
  const rows = [before, after].flatMap((row) => (row ? [JSON.stringify(row)] : []));
  const who = claims.length > 0 ? `${by} (${claims.join(', ')})` : by;
  return `${changedAt}  ${who}  ${operation} ${table} ${rows.join(' → ')}`.trimEnd();
}
