import { once } from 'node:events';
import { type Socket, connect } from 'node:net';

interface OpenOptions {
  readonly count: number;
  readonly port: number;
  /** What each of them sends at once. */
  readonly bytes: string;
}

/** Clients that send, and read nothing until `readToEnd`. */
export class StalledClients {
  private readonly sockets: Socket[] = [];

  /** Resolves when all are connected and have sent. */
  open({ count, port, bytes }: OpenOptions): Promise<Socket[]> {
    const opening = Array.from({ length: count }, async () => {
      const socket = connect(port, '127.0.0.1').on('error', () => undefined);
      this.sockets.push(socket);
      await once(socket, 'connect');
      socket.pause().write(bytes);
      return socket;
    });
    return Promise.all(opening);
  }

  /** Reads what comes until the server has closed the connection, however it did. */
  async readToEnd(client: Socket): Promise<void> {
    client.resume();
    if (!client.destroyed) await new Promise((resolve) => void client.once('close', resolve));
  }

  close(): void {
    for (const socket of this.sockets.splice(0)) socket.destroy();
  }
}
