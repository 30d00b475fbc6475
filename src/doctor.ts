import './administration/cli/end-on-signals.js';
import 'reflect-metadata';
const { commandLine, prepare, runProgram } = await import('./administration/cli/program.js');
const { doctor } = await import('./administration/doctor/doctor.command.js');

const notes = `An API key, an access token, or both, a line each, are taken from standard input and checked too:
  printf '%s\\n' "$KEY" "$TOKEN" | ${commandLine('doctor')}
It changes nothing. Status 2 where there is a fault.`;
await runProgram(prepare(doctor, 'doctor', notes));
