import { runProgram } from './administration/frame/run-program.js';
import { codes } from './administration/codes/codes.program.js';

await runProgram(codes, process.argv.slice(2));
