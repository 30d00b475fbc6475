import { runCommand } from './administration/command/connect.js';
import { migrate } from './administration/migrate/migrate.command.js';

await runCommand(() => migrate(process.argv.slice(2)));
