// The service in production: `node dist/main.js`.
import { setFlagsFromString } from 'node:v8';
import { ProcessEnd } from './bootstrap/process-end.js';

// By default V8 lets garbage grow to a multiple of the live data before it collects it. With a third memory stays flat;
// with less it collects so often that requests wait while all codes are read.
setFlagsFromString('--heap-growing-percent=33');

const processEnd = new ProcessEnd();
processEnd.listen();

// Imported after `listen`, because a signal counts also while the service is being loaded
const { startFromEnvironment } = await import('./bootstrap/start-service.js');
await startFromEnvironment(processEnd);
