import { AdministrationError } from '../frame/command.js';

/** How many faults of a file are told. */
const TOLD = 20;

/** What is wrong with a line of a file, and how to correct it. */
export interface Fault {
  readonly line: number;
  readonly said: string;
}

/** @throws AdministrationError with the first faults, each with its line */
export function assertNone(path: string, faults: readonly Fault[]): void {
  if (faults.length === 0) return;
  const sorted = [...faults].sort((one, other) => one.line - other.line);
  const told = sorted.slice(0, TOLD).map(({ line, said }) => `${path}, line ${line}: ${said}`);
  if (faults.length > TOLD) told.push(`… and ${faults.length - TOLD} more`);
  throw new AdministrationError(`${told.join('\n')}\nNothing was written.`);
}
