// Starts the service in production: `node dist/main.js`.
import { setFlagsFromString } from 'node:v8';
import { ProcessEnd } from './bootstrap/process-end.js';

// With this flag V8 collects garbage when the heap is 33 % larger than its live data. By default the heap would grow to
// a multiple. With a lower percentage V8 would collect so often that requests wait while the service reads all codes.
setFlagsFromString('--heap-growing-percent=33');

const processEnd = new ProcessEnd();
processEnd.listen();

// Imported after `listen`, so that a signal also ends a process that is still loading the service
const { startFromEnvironment } = await import('./bootstrap/start-service.js');
await startFromEnvironment(processEnd);
