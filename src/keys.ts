import { runCommand } from './administration/command/connect.js';
import { keys } from './administration/keys/keys.command.js';

await runCommand(() => keys(process.argv.slice(2)));
