// The service in production: `node dist/main.js`.
import { setFlagsFromString } from 'node:v8';
import { ProcessEnd } from './bootstrap/process-end.js';

// V8 by default lets garbage grow to a multiple of the live data. With a third of it, memory stays flat. If you lower
// this, V8 collects so often that requests wait while all codes are read.
setFlagsFromString('--heap-growing-percent=33');

const processEnd = new ProcessEnd();
processEnd.listen();

// Imported after `listen`, so that a signal also ends a process that is still loading the service
const { startFromEnvironment } = await import('./bootstrap/start-service.js');
await startFromEnvironment(processEnd);
