import { type Socket, connect, createServer } from 'node:net';
import { listen } from './ports.js';

/** The first byte of a query without parameters in PostgreSQL's protocol. No message of the server begins with it. */
const QUERY = 'Q'.charCodeAt(0);

/**
 * A TCP proxy in front of a server. It passes bytes on, refuses connections, or drops all bytes without closing the
 * connection. It can also drop only queries, and no logins, as a paused pooler does.
 */
export class Proxy {
  mode: 'pass' | 'refuse' | 'swallow' | 'swallow-queries' = 'pass';
  /** The connection string with the address of the proxy. */
  url: string;
  /** The connections that clients have opened so far. */
  connectionCount = 0;
  private readonly sockets = new Set<Socket>();
  private readonly server;

  private constructor(target: URL) {
    this.server = createServer((client) => {
      this.connectionCount += 1;
      if (this.mode === 'refuse') {
        client.destroy();
        return;
      }
      const upstream = connect(Number(target.port), target.hostname);
      this.forward(client, upstream);
      this.forward(upstream, client);
    });
  }

  /** @param url the connection string of the server */
  static async before(url: string): Promise<Proxy> {
    const proxy = new Proxy(new URL(url));
    proxy.url = Object.assign(new URL(url), { port: await listen(proxy.server) }).href;
    return proxy;
  }

  /** Cuts all open connections, as a server does when it is killed. */
  cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  close(): void {
    this.cut();
    this.server.close();
  }

  private passes([firstByte]: Buffer): boolean {
    if (this.mode === 'swallow-queries') return firstByte !== QUERY;
    return this.mode === 'pass';
  }

  private forward(from: Socket, to: Socket): void {
    this.sockets.add(from);
    from.on('data', (chunk) => {
      if (this.passes(chunk)) to.write(chunk);
    });
    from.on('error', () => undefined);
    from.on('close', () => {
      this.sockets.delete(from);
      if (this.mode !== 'swallow') to.destroy(); // `swallow` also hides the end of a connection from the other side
    });
  }
}
