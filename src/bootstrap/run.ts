import 'reflect-metadata';
import { readConfiguration } from '../configuration/read-configuration.js';
import { describeStartFailure } from '../configuration/start-error.js';
import type { ProcessEnd } from './process-end.js';
import { startService } from './start-service.js';

/** Starts the service with the variables of the environment. A start that fails ends the process with status 1. */
export async function run(processEnd: ProcessEnd): Promise<void> {
  try {
    processEnd.watch(await startService(readConfiguration(process.env)));
  } catch (error) {
    process.stderr.write(`${describeStartFailure(error)}\n`);
    process.exit(1);
  }
}
