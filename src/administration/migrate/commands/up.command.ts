import { command } from '../../frame/command.js';
import { connect } from '../../frame/connect.js';
import { MIGRATIONS } from '../read-migrations.js';
import { applyMigrations } from '../run-migrations.js';

export const up = command({
  usage: '[--json]',
  summary: 'applies the migrations that are pending',
  options: { json: { type: 'boolean' } },
  run: async () => {
    const applied = await applyMigrations(MIGRATIONS, connect);
    return {
      text: applied.map((name) => `applied  ${name}`).join('\n') || 'Nothing to do.',
      json: { applied },
    };
  },
});
