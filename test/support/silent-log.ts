import type { Log } from '../../src/telemetry/log.js';

export const silentLog = { write: () => undefined } as unknown as Log;
