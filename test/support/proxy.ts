import { type Socket, connect, createServer } from 'node:net';
import { listen } from './listen.js';

/** A TCP proxy before a server, which passes bytes on, refuses connections, or swallows everything without an event. */
export class Proxy {
  mode: 'pass' | 'refuse' | 'swallow' = 'pass';
  /** The connection string by way of the proxy. */
  url: string;
  private readonly sockets = new Set<Socket>();
  private readonly server;

  private constructor(target: URL) {
    this.server = createServer((client) => {
      if (this.mode === 'refuse') {
        client.destroy();
        return;
      }
      const upstream = connect(Number(target.port), target.hostname);
      this.join(client, upstream);
      this.join(upstream, client);
    });
  }

  /** @param url the connection string of the server */
  static async before(url: string): Promise<Proxy> {
    const proxy = new Proxy(new URL(url));
    proxy.url = Object.assign(new URL(url), { port: await listen(proxy.server) }).href;
    return proxy;
  }

  /** Ends the connections that are open, as a server that dies does. */
  cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  close(): void {
    this.cut();
    this.server.close();
  }

  private join(from: Socket, to: Socket): void {
    this.sockets.add(from);
    from.on('data', (chunk) => {
      if (this.mode === 'pass') to.write(chunk);
    });
    from.on('error', () => undefined);
    from.on('close', () => {
      this.sockets.delete(from);
      if (this.mode !== 'swallow') to.destroy();
    });
  }
}
