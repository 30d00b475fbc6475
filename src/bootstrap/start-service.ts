import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import type { NestApplicationContext } from '@nestjs/core';
import { createApplication } from './create-application.js';
import type { Configuration } from '../configuration/configuration.js';
import { transportWarning } from '../configuration/database-url.js';
import { StartError } from '../configuration/start-error.js';
import { ManagementServer } from '../management/management.server.js';
import { LOG, type Log } from '../telemetry/log.js';

/** A running service. */
export interface Service {
  readonly log: Log;
  readonly url: string;
  readonly managementUrl: string;
  /**
   * Continues to answer for a short time, with `Connection: close`, then closes everything.
   * @param reason a signal; without one it waits only for the answers under way
   */
  stop(reason?: string): Promise<void>;
}

/**
 * Starts the service on both of its ports.
 * @throws StartError with the variable to change, if a port is not available
 */
export async function startService(configuration: Configuration): Promise<Service> {
  const { HOST, PORT, MANAGEMENT_PORT } = configuration;
  const app = await createApplication(configuration);
  const log = app.get<Log>(LOG);
  const warning = transportWarning(configuration);
  if (warning !== undefined) log.warn(warning);
  const management = app.get(ManagementServer).server;
  const api = app.getHttpServer() as Server;
  await app.init();
  try {
    await listen(management, MANAGEMENT_PORT, HOST, 'MANAGEMENT_PORT');
    await listen(api, PORT, HOST, 'PORT');
  } catch (error) {
    await app.close();
    throw error;
  }
  const service: Service = {
    log,
    url: addressOf(api, HOST),
    managementUrl: addressOf(management, HOST),
    async stop(reason) {
      // The interface lacks the parameter that the class has, and that the hooks get
      await (app as unknown as NestApplicationContext).close(reason);
    },
  };
  log.info({ url: service.url, managementUrl: service.managementUrl }, 'listening');
  return service;
}

async function listen(server: Server, port: number, host: string, variable: string): Promise<void> {
  server.listen(port, host);
  await once(server, 'listening').catch(({ code, message }: NodeJS.ErrnoException) => {
    const reason =
      code === 'EADDRINUSE' ? 'is taken by another program' : `cannot be had (${code ?? message})`;
    throw new StartError(
      `${variable}=${port}: the port ${reason} on ${host}. Stop that program or set ${variable} to another port.`,
    );
  });
}

function addressOf(server: Server, host: string): string {
  const { port } = server.address() as AddressInfo;
  return `http://${host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host}:${port}`;
}
