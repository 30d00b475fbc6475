import { command } from '../../frame/command.js';
import { connect, withDatabase } from '../../frame/connect.js';
import { driftInOneLine } from '../drift.js';
import { MIGRATIONS } from '../migration-files.js';
import { applyMigrations } from '../run-migrations.js';

export const up = command({
  usage: '[--json]',
  summary: 'applies the migrations that are pending',
  options: { json: { type: 'boolean' } },
  run: async () => {
    const applied = await applyMigrations(MIGRATIONS, connect);
    const drift = await withDatabase(driftInOneLine);
    const lines = applied.map((name) => `applied  ${name}`);
    if (lines.length === 0) lines.push('Nothing to do.');
    return { text: [...lines, ...(drift ? [drift] : [])].join('\n'), json: { applied, drift } };
  },
});
