// Limits the number of connections. Connections on which a request had a valid API key stay. At the limit a new connection replaces the oldest
// one on which no valid key was seen. If there is none, requests on the new connection get 503. The replies that strangers leave unread are
// limited on all connections together: beyond the limit, the stranger with the most of them is disconnected.
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Inject, Injectable } from '@nestjs/common';
import { LOG, type Log } from '../../telemetry/log.js';
import { Metrics } from '../../telemetry/metrics.js';
import { Connection, type ServiceSocket } from '../connection.js';
import { MAX_CONNECTIONS, RESERVED_DESCRIPTORS } from '../limits.js';

/** How many connections above the limit are accepted, to be answered 503. Node closes further ones without an answer. */
const TURNED_AWAY = 32;
/** Replies that strangers may leave unread. One takes about four kilobytes, and Node parses more than a thousand requests of one packet. */
const MAX_UNREAD = 5_000;
const LOG_EVERY_MS = 60_000;

@Injectable()
export class Connections {
  private readonly limit = connectionLimit();
  private readonly all = new Set<Connection>();
  /** Connections on which no valid key was seen, in the order of their arrival. */
  private readonly strangers = new Set<Connection>();
  private unread = 0;
  private loggedAt = -Infinity;

  constructor(
    @Inject(LOG) private readonly log: Log,
    private readonly metrics: Metrics,
  ) {}

  guard(server: Server): void {
    server.maxConnections = this.limit + TURNED_AWAY;
    server.on('connection', (socket: Socket) => this.arrive(socket as ServiceSocket));
    server.on('drop', () => this.noteLimit('newcomer', this.connectionsLimit));
  }

  /** Closes idle connections at once, and the others as soon as their answers have been read. */
  closeWhenIdle(): void {
    for (const connection of this.all) connection.closeWhenIdle();
  }

  /** Counts the reply to a stranger until its client has read it. */
  expectReply(connection: Connection, response: ServerResponse): void {
    if (connection.isKnown) return;
    connection.unread++;
    this.unread++;
    response.once('close', () => {
      if (connection.unread > 0) this.noteRead(connection, 1);
    });
    if (this.unread <= MAX_UNREAD) return;
    let worst = connection;
    for (const stranger of this.strangers) if (stranger.unread > worst.unread) worst = stranger;
    this.disconnect(worst, `${MAX_UNREAD} replies that strangers have not read`);
  }

  private noteRead(connection: Connection, replies: number): void {
    connection.unread -= replies;
    this.unread -= replies;
  }

  private arrive(socket: ServiceSocket): void {
    const connection = new Connection(socket, (known) => this.forgetStranger(known));
    socket.connection = connection;
    socket.once('close', () => this.forget(connection));
    this.all.add(connection);
    if (this.all.size > this.limit) this.makeRoomFor(connection);
    if (!connection.isTurnedAway) this.strangers.add(connection);
    this.metrics.connections.set(this.all.size);
  }

  private makeRoomFor(newcomer: Connection): void {
    const [oldest] = this.strangers;
    if (oldest) return this.disconnect(oldest, this.connectionsLimit);
    newcomer.isTurnedAway = true;
    this.noteLimit('newcomer', this.connectionsLimit);
  }

  private disconnect(stranger: Connection, limit: string): void {
    stranger.socket.destroy();
    this.forget(stranger);
    this.noteLimit('stranger', limit);
  }

  private forgetStranger(connection: Connection): void {
    this.strangers.delete(connection);
    this.noteRead(connection, connection.unread);
  }

  private forget(connection: Connection): void {
    this.forgetStranger(connection);
    this.all.delete(connection);
    this.metrics.connections.set(this.all.size);
  }

  private get connectionsLimit(): string {
    return `${this.limit} connections`;
  }

  private noteLimit(whose: 'stranger' | 'newcomer', limit: string): void {
    this.metrics.connectionsRefused.inc({ whose });
    if (performance.now() - this.loggedAt < LOG_EVERY_MS) return;
    this.loggedAt = performance.now();
    this.log.warn(
      { limit, whose },
      'connections: a limit is reached; connections without a valid API key are closed',
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
