import { type ProgramIo, createProgram, runProgram } from './cli/program.js';
import { createExport, createShow } from './codes.js';

const NOTES = 'The commands read the database at DATABASE_URL. They change nothing.';

export function runCodes(io: ProgramIo): Promise<void> {
  const commands = [createShow(io), createExport(io)];
  return runProgram(createProgram({ name: 'codes', commands, notes: NOTES }, io), io);
}
