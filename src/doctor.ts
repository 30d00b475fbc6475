import './administration/cli/end-on-signals.js';
import 'reflect-metadata';
// Imported dynamically, so that signals are handled first: Node.js loads all static imports before it runs any
const { commandLine, createProgram, runProgram } = await import('./administration/cli/program.js');
const { runDoctor } = await import('./administration/doctor/doctor.js');

const program = createProgram({
  name: 'doctor',
  commands: [],
  notes: `With -, it reads API keys and access tokens from standard input, one on each line, and says why they are refused:
  printf '%s\\n' "$KEY" "$TOKEN" | ${commandLine('doctor', '-')}
It changes nothing. The status is 2 if there is a fault.`,
});
program
  .description('checks configuration, database and issuer, and says what to do')
  .argument('[-]', 'read credentials from standard input')
  .action((input?: string) => runDoctor(input));
await runProgram(program);
