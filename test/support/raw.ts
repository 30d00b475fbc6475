import { connect } from 'node:net';

export interface RawResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface Exchange {
  readonly responses: readonly RawResponse[];
  /** Whether the server closed the connection before the time was up. */
  readonly closed: boolean;
  /** Milliseconds until it was closed. */
  readonly elapsed: number;
}

/** Sends bytes as they are, in pieces, and collects what comes back until the server closes, or nothing came for `quietMs`. */
export function exchange(
  port: number,
  pieces: string | readonly (string | Buffer)[],
  { quietMs = 300, pauseMs = 5, timeoutMs = 20_000 } = {},
): Promise<Exchange> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const chunks: Buffer[] = [];
    const startedAt = performance.now();
    let quiet: NodeJS.Timeout | undefined;
    let closed = true;
    const giveUp = (): void => {
      closed = false;
      socket.destroy();
    };
    const limit = setTimeout(giveUp, timeoutMs);
    socket.on('data', (chunk) => {
      chunks.push(chunk);
      clearTimeout(quiet);
      quiet = setTimeout(giveUp, quietMs);
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(limit);
      clearTimeout(quiet);
      resolve({
        responses: parse(Buffer.concat(chunks)),
        closed,
        elapsed: performance.now() - startedAt,
      });
    });
    socket.on('connect', () => {
      void (async () => {
        for (const piece of typeof pieces === 'string' ? [pieces] : pieces) {
          if (socket.destroyed) return;
          socket.write(piece);
          await new Promise((next) => setTimeout(next, pauseMs));
        }
      })();
    });
  });
}

/** Answers one behind the other, each with a Content-Length. */
function parse(bytes: Buffer): RawResponse[] {
  const responses: RawResponse[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf('\r\n\r\n', at);
    if (end < 0)
      throw new Error(`an answer without an end: ${bytes.subarray(at).toString('latin1')}`);
    const [statusLine = '', ...lines] = bytes.subarray(at, end).toString('latin1').split('\r\n');
    const headers = new Headers(
      lines.map(
        (line) =>
          [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()] as [
            string,
            string,
          ],
      ),
    );
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]);
    const length = status === 304 || status === 204 ? 0 : Number(headers.get('content-length'));
    at = end + 4 + length;
    responses.push({ status, headers, text: bytes.subarray(end + 4, at).toString('utf8') });
  }
  return responses;
}
