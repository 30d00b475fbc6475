import './administration/frame/end-on-signals.js';
import 'reflect-metadata';
const { typed } = await import('./administration/frame/command.js');
const { runProgram } = await import('./administration/frame/run-program.js');
const { doctor } = await import('./administration/doctor/doctor.command.js');

await runProgram({
  name: 'doctor',
  commands: { '': doctor },
  notes: `An API key, an access token, or both, a line each, are taken from standard input and examined too:
  printf '%s\\n' "$KEY" "$TOKEN" | ${typed('doctor')}
It changes nothing. Status 2 where there is a fault.`,
});
