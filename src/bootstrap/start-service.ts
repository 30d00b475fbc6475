import 'reflect-metadata';
import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import type { NestApplicationContext } from '@nestjs/core';
import type { Configuration } from '../configuration/configuration.js';
import { findTransportWarning } from '../configuration/database-url.js';
import { readConfiguration } from '../configuration/read-configuration.js';
import { StartError, describeStartFailure } from '../configuration/start-error.js';
import { ManagementServer } from '../management/management.server.js';
import { type LogOutput, ServiceLogger } from '../telemetry/service-logger.js';
import { Tracing } from '../telemetry/tracing.js';
import { createApplication } from './create-application.js';

export type Service = Awaited<ReturnType<typeof startService>>;

/**
 * Starts the service with the variables of the environment. A start that fails ends the process with status 1.
 * @param processEnd the ProcessEnd that will stop the service. Its type would be an import in a circle
 */
export async function startFromEnvironment(processEnd: { watch: (service: Service) => void }): Promise<void> {
  try {
    processEnd.watch(await startService(readConfiguration(process.env)));
  } catch (error) {
    process.stderr.write(`${describeStartFailure(error)}\n`);
    process.exit(1);
  }
}

/** @throws StartError with the variable to change, if a port is not available */
export async function startService(configuration: Configuration, logOutput?: LogOutput) {
  const app = await createApplication(configuration, logOutput);
  const logger = app.get(ServiceLogger);
  const warning = findTransportWarning(configuration);
  if (warning !== undefined) logger.warn({ message: warning });
  await app.init();
  const management = app.get(ManagementServer);
  const context = app as unknown as NestApplicationContext; // in the type of `app`, `close` has no parameter
  /** Stops the service. After a signal, requests are still answered for DRAIN_SECONDS before the port is closed. */
  const stop = async (signal?: string): Promise<void> => {
    try {
      await context.close(signal);
      await app.get(Tracing).stop(); // after the last requests, because it sends their spans
    } finally {
      management.close(); // last, so that health and metrics answer while the service ends
    }
  };
  try {
    const { HOST, PORT, MANAGEMENT_HOST, MANAGEMENT_PORT } = configuration;
    const host = MANAGEMENT_HOST || HOST;
    // The management port opens first, so that health and metrics answer before the API does
    const managementUrl = await openPort(management.server, {
      variable: 'MANAGEMENT_PORT',
      host,
      port: MANAGEMENT_PORT,
    });
    const url = await openPort(app.getHttpServer(), { variable: 'PORT', host: HOST, port: PORT });
    logger.log({ message: 'listening', url, managementUrl });
    return { logger, url, managementUrl, stop };
  } catch (error) {
    await stop();
    await logger.flush();
    throw error;
  }
}

interface Address {
  readonly variable: 'PORT' | 'MANAGEMENT_PORT';
  readonly host: string;
  readonly port: number;
}

async function openPort(server: Server, { variable, host, port }: Address): Promise<string> {
  // Without a host, Node.js listens on all addresses of IPv4 and IPv6
  server.listen({ port, host: host || undefined });
  try {
    await once(server, 'listening');
  } catch (error) {
    const where = host === '' ? '' : ` on ${host}`;
    const { fault, remedy } = describePortFault(error as NodeJS.ErrnoException, variable);
    throw new StartError(`${variable}=${port}: the port ${fault}${where}. ${remedy}`);
  }
  const { port: listening } = server.address() as AddressInfo;
  return `http://${formatHost(host)}:${listening}`;
}

function describePortFault({ code, message }: NodeJS.ErrnoException, variable: Address['variable']) {
  if (code === 'EADDRINUSE') {
    return { fault: 'is taken by another program', remedy: `Stop that program or set ${variable} to another port.` };
  }
  const fault = `cannot be opened (${code ?? message})`;
  if (code === 'EACCES') return { fault, remedy: `Set ${variable} to a port above 1023.` };
  return { fault, remedy: 'Correct HOST, or MANAGEMENT_HOST, to an address of this machine.' };
}

/** Returns the host for a URL that people can open on this machine. */
function formatHost(host: string): string {
  if (['', '0.0.0.0', '::'].includes(host)) return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}
