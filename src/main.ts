// The service in production: `node dist/main.js`.
import './configuration/supported-node.js';
import 'reflect-metadata';
import { setFlagsFromString } from 'node:v8';
const { readConfiguration } = await import('./configuration/read-configuration.js');
const { describeStartFailure } = await import('./configuration/start-error.js');
const { startService } = await import('./bootstrap/start-service.js');
const { endOn } = await import('./bootstrap/signals.js');

// By default V8 lets garbage grow to a multiple of the live data before it collects the old generation. At 33 % memory stays flat; a smaller
// share collects so often that requests wait while all codes are read.
setFlagsFromString('--heap-growing-percent=33');

try {
  const service = await startService(readConfiguration(process.env));
  endOn(service);
} catch (error) {
  process.stderr.write(`${describeStartFailure(error)}\n`);
  process.exit(1);
}
