import './configuration/supported-node.js';
import 'reflect-metadata';
const { runProgram } = await import('./administration/frame/run-program.js');
const { doctor } = await import('./administration/doctor/doctor.program.js');

await runProgram(doctor);
