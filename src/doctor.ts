import 'reflect-metadata';
import { runProgram } from './administration/frame/run-program.js';
import { doctor } from './administration/doctor/doctor.program.js';

await runProgram(doctor);
