import { runProgram } from './administration/frame/run-program.js';
import { issue } from './administration/keys/issue.command.js';
import { list } from './administration/keys/list.command.js';
import { revoke } from './administration/keys/revoke.command.js';
import { rotate } from './administration/keys/rotate.command.js';

await runProgram({
  name: 'keys',
  commands: { issue, list, rotate, revoke },
  notes: `A key is shown once, when it is issued.
The database is the one at DATABASE_URL.`,
});
