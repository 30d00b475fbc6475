import { runProgram } from './administration/frame/run-program.js';
import { migrate } from './administration/migrate/migrate.program.js';

await runProgram(migrate, process.argv.slice(2));
