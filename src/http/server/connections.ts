// Limits the number of connections. Connections on which a request had a valid API key stay. At the limit a new connection replaces the oldest
// one on which no valid key was seen. If there is none, requests on the new connection get 503.
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Log } from '../../telemetry/log.js';
import { connections, connectionsRefused } from '../../telemetry/metrics.js';
import { Connection, type ServiceSocket } from '../connection.js';
import { MAX_CONNECTIONS, RESERVED_DESCRIPTORS } from '../limits.js';

/** How many connections above the limit are accepted, to be answered 503. Node closes further ones without an answer. */
const TURNED_AWAY = 32;
const LOG_EVERY_MS = 60_000;

export class Connections {
  private readonly all = new Set<Connection>();
  /** Connections on which no valid key was seen, in the order of their arrival. */
  private readonly strangers = new Set<Connection>();
  private loggedAt = -Infinity;

  constructor(
    private readonly log: Log,
    private readonly limit = connectionLimit(),
  ) {}

  guard(server: Server): void {
    server.maxConnections = this.limit + TURNED_AWAY;
    server.on('connection', (socket: Socket) => this.arrive(socket as ServiceSocket));
    server.on('drop', () => this.noteLimit('newcomer'));
  }

  /** Closes idle connections at once, and the others as soon as their answers have been read. */
  closeWhenIdle(): void {
    for (const connection of this.all) connection.closeWhenIdle();
  }

  private arrive(socket: ServiceSocket): void {
    const connection = new Connection(socket, (known) => this.strangers.delete(known));
    socket.connection = connection;
    socket.once('close', () => this.forget(connection));
    this.all.add(connection);
    if (this.all.size > this.limit) this.makeRoomFor(connection);
    if (!connection.isTurnedAway) this.strangers.add(connection);
    connections.set(this.all.size);
  }

  private makeRoomFor(newcomer: Connection): void {
    const [oldest] = this.strangers;
    if (oldest) {
      oldest.socket.destroy();
      this.forget(oldest);
    } else newcomer.isTurnedAway = true;
    this.noteLimit(oldest ? 'stranger' : 'newcomer');
  }

  private forget(connection: Connection): void {
    this.strangers.delete(connection);
    this.all.delete(connection);
    connections.set(this.all.size);
  }

  private noteLimit(whose: 'stranger' | 'newcomer'): void {
    connectionsRefused.inc({ whose });
    if (performance.now() - this.loggedAt < LOG_EVERY_MS) return;
    this.loggedAt = performance.now();
    this.log.warn(
      { limit: this.limit, whose },
      'connections: the limit is reached. Strangers make room for newcomers.',
    );
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
