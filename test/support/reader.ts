import { type Socket, connect } from 'node:net';

export interface RawReply {
  readonly status: number;
  readonly etag: string;
  /** The content coding, or an empty text. */
  readonly coding: string;
  readonly body: Buffer;
}

const LIMIT_MS = 30_000;

/** Of a header section with Content-Length; 0 of one without. */
export const contentLengthOf = (head: string): number =>
  Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);

/** One keep-alive connection that asks and reads with as little work as can be: for tests that need very many replies. */
export class Reader {
  private constructor(private readonly socket: Socket) {}

  static async to(url: string): Promise<Reader> {
    const { port, hostname } = new URL(url);
    const socket = connect(Number(port), hostname).setNoDelay(true);
    await new Promise(
      (resolve, reject) => void socket.once('connect', resolve).once('error', reject),
    );
    socket.on('error', () => undefined); // it closes then, which fails the request
    return new Reader(socket);
  }

  /** @param request the whole request, of a method whose answers have Content-Length and a body */
  ask(request: string | Buffer): Promise<RawReply> {
    return new Promise((resolve, reject) => {
      let chunks: Buffer[] = [];
      let received = 0;
      let head = '';
      let whole = Infinity;
      const readHead = (): void => {
        const bytes = Buffer.concat(chunks);
        chunks = [bytes];
        const end = bytes.indexOf('\r\n\r\n');
        if (end < 0) return;
        head = bytes.toString('latin1', 0, end);
        whole = end + 4 + contentLengthOf(head);
      };
      const onData = (chunk: Buffer): void => {
        chunks.push(chunk);
        received += chunk.length;
        if (head === '') readHead();
        if (received < whole) return;
        finish();
        resolve({
          status: Number(head.slice(9, 12)),
          etag: /etag: (\S+)/i.exec(head)?.[1] ?? '',
          coding: /content-encoding: (\S+)/i.exec(head)?.[1] ?? '',
          body: Buffer.concat(chunks).subarray(head.length + 4),
        });
      };
      const fail = (what: string) => (): void => {
        finish();
        this.socket.destroy();
        reject(new Error(`${what} when ${received} of ${whole} bytes were there: ${head}`));
      };
      const onClose = fail('the connection was closed');
      const limit = setTimeout(fail(`${LIMIT_MS} ms were over`), LIMIT_MS);
      const finish = (): void => {
        clearTimeout(limit);
        this.socket.off('data', onData).off('close', onClose);
      };
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
