import './configuration/supported-node.js';
import './administration/frame/end-on-signals.js';
const { runProgram } = await import('./administration/frame/run-program.js');
const { issue, list, revoke, rotate } = await import('./administration/keys/keys.js');

await runProgram({
  name: 'keys',
  commands: { issue, list, rotate, revoke },
  notes: `A key is shown once, when it is issued.
The database is the one at DATABASE_URL.`,
});
