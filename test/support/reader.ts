import { type Socket, connect } from 'node:net';

export interface RawReply {
  readonly status: number;
  readonly etag: string;
  readonly body: Buffer;
}

/** One keep-alive connection that asks and reads with as little work as can be: for tests that need very many replies. */
export class Reader {
  private constructor(private readonly socket: Socket) {}

  static async to(url: string): Promise<Reader> {
    const { port, hostname } = new URL(url);
    const socket = connect(Number(port), hostname).setNoDelay(true);
    await new Promise(
      (resolve, reject) => void socket.once('connect', resolve).once('error', reject),
    );
    return new Reader(socket);
  }

  /** @param request the whole request, of a method whose answers have Content-Length and a body */
  ask(request: string | Buffer): Promise<RawReply> {
    return new Promise((resolve, reject) => {
      let received: Buffer = Buffer.alloc(0);
      const onData = (chunk: Buffer): void => {
        received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
        const end = received.indexOf('\r\n\r\n');
        if (end < 0) return;
        const head = received.toString('latin1', 0, end);
        const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
        if (received.length < end + 4 + length) return;
        this.socket.off('data', onData).off('close', onClose);
        resolve({
          status: Number(head.slice(9, 12)),
          etag: /etag: (\S+)/i.exec(head)?.[1] ?? '',
          body: received.subarray(end + 4),
        });
      };
      const onClose = (): void =>
        reject(new Error('the connection was closed before the answer was whole'));
      this.socket.on('data', onData).once('close', onClose);
      this.socket.write(request);
    });
  }

  close(): void {
    this.socket.destroy();
  }
}

/** A whole request without a body. */
export const requestTo = (path: string, headers: Record<string, string>, method = 'GET'): string =>
  `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`;
