import 'reflect-metadata';
import { type ProgramIo, formatCommandLine, createProgram, runProgram } from './cli/program.js';
import { runChecks } from './doctor/doctor.js';

export function runDoctor(io: ProgramIo): Promise<void> {
  const notes = `With -, it reads API keys and access tokens from standard input, one on each line, and says why they are refused:
  printf '%s\\n' "$KEY" "$TOKEN" | ${formatCommandLine('doctor', '-')}
It changes nothing. The status is 2 if there is a fault.`;
  const program = createProgram({ name: 'doctor', commands: [], notes }, io)
    .description('checks configuration, database and issuer, and says what to do')
    .argument('[-]', 'read credentials from standard input')
    .action((input?: string) => runChecks(io, input));
  return runProgram(program, io);
}
