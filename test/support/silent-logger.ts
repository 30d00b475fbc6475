import type { ServiceLogger } from '../../src/telemetry/service-logger.js';

const silent = (): void => undefined;

export const silentLogger = {
  log: silent,
  warn: silent,
  error: silent,
  debug: silent,
} as unknown as ServiceLogger;
