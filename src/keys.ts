import { runProgram } from './administration/frame/run-program.js';
import { keys } from './administration/keys/keys.program.js';

await runProgram(keys, process.argv.slice(2));
