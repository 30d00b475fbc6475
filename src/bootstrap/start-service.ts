import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import type { NestApplicationContext } from '@nestjs/core';
import { createApplication } from './create-application.js';
import type { Configuration } from '../configuration/configuration.js';
import { transportWarning } from '../configuration/database-url.js';
import { StartError } from '../configuration/start-error.js';
import { ManagementServer } from '../management/management.server.js';
import { ServiceLogger } from '../telemetry/service-logger.js';
import { Tracing } from '../telemetry/tracing.js';

export type Service = Awaited<ReturnType<typeof startService>>;

/**
 * Starts the service on both of its ports.
 * @param beforeListening is called when the ports are about to be used
 * @throws StartError with the variable to change, if a port is not available
 */
export async function startService(
  configuration: Configuration,
  beforeListening?: () => Promise<void>,
) {
  const app = await createApplication(configuration);
  const logger = app.get(ServiceLogger);
  const warnings = [...(configuration.warnings ?? []), transportWarning(configuration) ?? []];
  for (const message of warnings.flat()) logger.warn({ message });
  await app.init();
  /** For a signal it answers on for a short time, with `Connection: close`. Then it waits for the answers under way, and closes everything. */
  const stop = async (signal?: string): Promise<void> => {
    await (app as unknown as NestApplicationContext).close(signal); // the interface lacks the parameter
    await app.get(Tracing).stop();
  };
  const { server } = app.get(ManagementServer);
  try {
    await beforeListening?.();
    const managementUrl = await listen(server, 'MANAGEMENT_PORT', configuration);
    const url = await listen(app.getHttpServer(), 'PORT', configuration);
    logger.log({ message: 'listening', url, managementUrl });
    return { logger, url, managementUrl, stop };
  } catch (error) {
    await stop();
    await logger.flush();
    throw error;
  }
}

async function listen(server: Server, variable: 'PORT' | 'MANAGEMENT_PORT', all: Configuration) {
  const { HOST: host, [variable]: port } = all;
  server.listen(port, host);
  await once(server, 'listening').catch(({ code, message }: NodeJS.ErrnoException) => {
    const reason =
      code === 'EADDRINUSE' ? 'is taken by another program' : `cannot be had (${code ?? message})`;
    throw new StartError(
      `${variable}=${port}: the port ${reason} on ${host}. Stop that program or set ${variable} to another port.`,
    );
  });
  const name = /^(0\.0\.0\.0|::)$/.test(host) ? '127.0.0.1' : host.replace(/.*:.*/, '[$&]');
  return `http://${name}:${(server.address() as AddressInfo).port}`;
}
