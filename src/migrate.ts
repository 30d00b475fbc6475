import { runCommand } from './administration/connect.js';
import { migrate } from './administration/migrate.command.js';

await runCommand(() => migrate(process.argv.slice(2)));
