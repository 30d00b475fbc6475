import { runProgram } from './administration/frame/run-program.js';
import { exportCommand } from './administration/codes/export.command.js';
import { show } from './administration/codes/show.command.js';

await runProgram({
  name: 'codes',
  commands: { show, export: exportCommand },
  notes: 'The database is the one at DATABASE_URL. Nothing is changed.',
});
