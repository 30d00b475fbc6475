import 'reflect-metadata';
import { runCommand } from './administration/command/connect.js';
import { doctor } from './administration/doctor/doctor.command.js';

await runCommand(() => doctor(process.argv.slice(2)));
