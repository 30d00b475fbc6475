// The service in production: `node dist/main.js`.
import { setFlagsFromString } from 'node:v8';
import { ProcessEnd } from './bootstrap/process-end.js';

// By default V8 lets garbage grow to a multiple of the live data. If garbage may only grow to a third of the live data,
// memory stays flat. If you lower this, V8 collects so often that requests wait while all codes are read.
setFlagsFromString('--heap-growing-percent=33');

const processEnd = new ProcessEnd();
processEnd.listen();

// Imported after `listen`, so that a signal also ends a process that is still loading the service
const { startFromEnvironment } = await import('./bootstrap/start-service.js');
await startFromEnvironment(processEnd);
