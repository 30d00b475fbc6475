import './administration/cli/end-on-signals.js';
import 'reflect-metadata';
// Loaded behind the signals: Node.js loads all static imports before it runs the first one
const { commandLine, createProgram, runProgram } = await import('./administration/cli/program.js');
const { runDoctor } = await import('./administration/doctor.js');

const program = createProgram({
  name: 'doctor',
  commands: [],
  notes: `An API key, an access token, or both, a line each, are taken from standard input and checked too:
  printf '%s\\n' "$KEY" "$TOKEN" | ${commandLine('doctor')}
It changes nothing. Status 2 where there is a fault.`,
});
program.description('checks configuration, database and issuer, and says what to do').action(runDoctor);
await runProgram(program);
