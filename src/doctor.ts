import './configuration/supported-node.js';
import './administration/frame/end-on-signals.js';
import 'reflect-metadata';
const { runProgram, typed } = await import('./administration/frame/command.js');
const { doctor } = await import('./administration/doctor/doctor.js');

await runProgram(
  'doctor',
  { '': doctor },
  `An API key, an access token, or both, a line each, are taken from standard input and examined too:
  printf '%s\\n' "$KEY" "$TOKEN" | ${typed('doctor')}
It changes nothing. Status 2 where there is a fault.`,
);
