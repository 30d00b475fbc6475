import { command } from '../../frame/command.js';
import { withDatabase } from '../../frame/connect.js';
import { type ForeignChange, readDrift } from '../drift.js';

export const drift = command({
  usage: '[--json]',
  summary:
    'shows what was changed by anything but migrations and the key commands since the last migration, and by whom; status 2 where there is something',
  options: { json: { type: 'boolean' } },
  run: () =>
    withDatabase(async (client) => {
      const found = await readDrift(client);
      const { changes, count, gaps } = found;
      const lines = changes.map(describeChange);
      if (count > changes.length) lines.push(`… and ${count - changes.length} more`);
      if (gaps.length > 0)
        lines.push(
          `The record of changes may lack changes of ${gaps.join(', ')}: triggers were disabled, a table was rewritten, or history was deleted. Run the doctor for details.`,
        );
      return {
        text: lines.join('\n') || 'Only migrations and the key commands changed something.',
        json: found,
        found: lines.length > 0,
      };
    }),
});

function describeChange(change: ForeignChange): string {
  const { committedAt, by, application, operation, table, before, after } = change;
  const rows = [before, after].filter((row) => row !== null).map((row) => JSON.stringify(row));
  const program = application === '' ? '' : ` (${application})`;
  return `${committedAt.toISOString()}  ${by}${program}  ${operation} ${table} ${rows.join(' → ')}`.trimEnd();
}
