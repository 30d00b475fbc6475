import { runCommand } from './administration/connect.js';
import { keys } from './administration/keys.command.js';

await runCommand(() => keys(process.argv.slice(2)));
