// One rule for each connection, the same for everyone: with more than a hundred requests waiting on it, it is closed, since each takes memory
// and time. Node's own limits do the rest. Limits of strangers belong in front of the service (deploy/nginx).
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { Inject, Injectable } from '@nestjs/common';
import { LOG, type Log } from '../../telemetry/log.js';
import { Metrics, measureOnScrape } from '../../telemetry/metrics.js';
import { MAX_CONNECTIONS, MAX_WAITING, RESERVED_DESCRIPTORS } from '../limits.js';
import type { ServiceRequest, ServiceResponse } from '../service-request.js';
import { Connection, type ServiceSocket, connectionOf } from './connection.js';

const LOG_EVERY_MS = 60_000;

@Injectable()
export class Connections {
  private readonly all = new Set<Connection>();
  private loggedAt = -Infinity;

  constructor(
    @Inject(LOG) private readonly log: Log,
    private readonly metrics: Metrics,
  ) {}

  guard(server: Server): void {
    server.maxConnections = connectionLimit();
    server.on('drop', () => this.noteLimit('connections', connectionLimit()));
    server.on('connection', (socket: Socket) => {
      const connection = new Connection(socket);
      (socket as ServiceSocket).connection = connection;
      this.all.add(connection);
      socket.once('close', () => this.all.delete(connection));
    });
    // Node treats a connection as idle when its answer was written to the socket, even while the client is still reading
    server.closeIdleConnections = () => {
      for (const connection of this.all) connection.closeWhenIdle();
    };
    const { connections } = this.metrics;
    measureOnScrape(connections, () => connections.set(this.all.size));
  }

  /** Whether a request may run. Otherwise its connection is closed, or will be after an earlier answer. */
  admits(request: ServiceRequest, response: ServiceResponse): boolean {
    const connection = connectionOf(request);
    if (connection.isClosing || request.socket.destroyed) return false;
    if (connection.add(response)) return true;
    connection.cut();
    this.noteLimit('waiting-requests', MAX_WAITING);
    return false;
  }

  private noteLimit(limit: string, most: number): void {
    this.metrics.connectionsRefused.inc({ limit });
    if (performance.now() - this.loggedAt < LOG_EVERY_MS) return;
    this.loggedAt = performance.now();
    this.log.warn({ limit, most }, 'connections: a limit is reached, a connection was closed');
  }
}

interface Report {
  readonly userLimits?: { readonly open_files?: { readonly soft: number | 'unlimited' } };
}

/** How many connections the process may hold. At its limit of file descriptors it could not even answer health checks. */
function connectionLimit(): number {
  const { userLimits } = process.report.getReport() as Report;
  const descriptors = Number(userLimits?.open_files?.soft);
  return Number.isFinite(descriptors)
    ? Math.max(1, Math.min(MAX_CONNECTIONS, descriptors - RESERVED_DESCRIPTORS))
    : MAX_CONNECTIONS;
}
