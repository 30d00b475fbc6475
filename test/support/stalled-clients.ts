import { type Socket, connect } from 'node:net';
import { limitWait, nextEvent } from './waiting.js';

interface OpenOptions {
  readonly count: number;
  readonly port: number;
  /** The bytes that each client sends when it has connected. */
  readonly bytes: string;
}

/** Clients that send bytes, and read nothing until `readToEnd`. */
export class StalledClients {
  private readonly sockets: Socket[] = [];

  /** Resolves when all clients have connected and sent their bytes. */
  open({ count, port, bytes }: OpenOptions): Promise<Socket[]> {
    const opening = Array.from({ length: count }, async () => {
      const socket = connect(port, '127.0.0.1').on('error', () => undefined); // `close` follows
      this.sockets.push(socket);
      await nextEvent(socket, 'connect');
      socket.pause().write(bytes);
      return socket;
    });
    return Promise.all(opening);
  }

  /** Reads until the server has closed or reset the connection. */
  async readToEnd(client: Socket): Promise<void> {
    client.resume();
    if (client.destroyed) return;
    await limitWait(
      'the end of a connection of the service',
      () => new Promise((resolve) => void client.once('close', resolve)),
    );
  }

  close(): void {
    for (const socket of this.sockets.splice(0)) socket.destroy();
  }
}
