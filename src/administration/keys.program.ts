import { type ProgramIo, createProgram, runProgram } from './cli/program.js';
import { createIssue, createList, createRevoke, createRotate } from './keys.js';

const NOTES = `A key is shown once, when it is issued.
The commands use the database at DATABASE_URL.`;

export function runKeys(io: ProgramIo): Promise<void> {
  const commands = [createIssue(io), createList(io), createRotate(io), createRevoke(io)];
  return runProgram(createProgram({ name: 'keys', commands, notes: NOTES }, io), io);
}
