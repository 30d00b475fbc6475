import { type Socket, connect } from 'node:net';
import { limitWait, nextEvent } from './waiting.js';

export interface RawReply {
  readonly status: number;
  readonly etag: string;
  readonly body: Buffer;
}

const HEAD_END = '\r\n\r\n';

/** Returns the Content-Length of a header section, or 0 if it has none. */
export const contentLengthOf = (head: string): number => Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);

/** A connection for tests that need very many replies. All requests use it, and cost little CPU time. */
export class Reader {
  private constructor(private readonly socket: Socket) {}

  static async to(url: string): Promise<Reader> {
    const { port, hostname } = new URL(url);
    const socket = connect(Number(port), hostname).setNoDelay(true);
    await nextEvent(socket, 'connect');
    socket.on('error', () => undefined); // the connection then closes, and the request fails
    return new Reader(socket);
  }

  /** @param request a request, or its rest after `send`. Not HEAD: `ask` waits for a body of Content-Length bytes */
  ask(request: string | Buffer): Promise<RawReply> {
    const { socket } = this;
    const wait = (resolve: (reply: RawReply) => void, reject: (error: Error) => void): void => {
      let bytes: Buffer = Buffer.alloc(0);
      const end = (): void => {
        socket.off('data', onData).off('close', onClose);
      };
      const onData = (chunk: Buffer): void => {
        bytes = Buffer.concat([bytes, chunk]);
        const headLength = bytes.indexOf(HEAD_END);
        if (headLength < 0) return;
        const head = bytes.toString('latin1', 0, headLength);
        const bodyStart = headLength + HEAD_END.length;
        if (bytes.length < bodyStart + contentLengthOf(head)) return;
        end();
        resolve({
          status: Number(head.split(' ', 2)[1]),
          etag: /etag: (\S+)/i.exec(head)?.[1] ?? '',
          body: bytes.subarray(bodyStart),
        });
      };
      const onClose = (): void => {
        end();
        reject(new Error(`closed when ${bytes.length} bytes were there`));
      };
      socket.on('data', onData).once('close', onClose).write(request);
    };
    const replying = limitWait(
      () => `a whole answer to ${request.toString().split('\r\n', 1)[0]}`,
      () => new Promise(wait),
    );
    replying.catch(() => socket.destroy()); // a late answer would be taken for that of the next request
    return replying;
  }

  send(part: string): void {
    this.socket.write(part);
  }

  close(): void {
    this.socket.destroy();
  }
}

/** Returns a whole request without a body. */
export const requestTo = (path: string, headers: Record<string, string>, method = 'GET'): string =>
  `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`;
