import { connect } from 'node:net';
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** What `fetch` gave, read to its end. */
export const readReply = async (response: Response): Promise<Reply> => {
  const { status, headers } = response;
  return { status, headers, text: await response.text() };
};

export interface Exchange {
  readonly responses: readonly Reply[];
  /** Whether the server closed the connection. */
  readonly closed: boolean;
}

/** How long more answers are waited for than were expected: one that comes later is not seen. */
const QUIET_MS = 50;

/**
 * Sends bytes as they are, in pieces, and collects what comes back until the server closes the connection.
 * @param options.answers ends it also when as many answers are whole and nothing more comes
 */
export function exchange(
  port: number,
  pieces: string | readonly (string | Buffer)[],
  { answers = Infinity, pauseMs = 5 } = {},
): Promise<Exchange> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let received: Buffer = Buffer.alloc(0);
    let quiet: NodeJS.Timeout | undefined;
    let closed = true;
    const giveUp = (): void => {
      closed = false;
      socket.destroy();
    };
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      clearTimeout(quiet);
      if (answers < Infinity && parse(received).whole >= answers) quiet = setTimeout(giveUp, QUIET_MS);
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(quiet);
      const { responses, rest } = parse(received);
      if (rest === '') resolve({ responses, closed });
      else reject(new Error(`an answer without an end: ${rest}`));
    });
    socket.on('connect', () => {
      void (async () => {
        for (const piece of typeof pieces === 'string' ? [pieces] : pieces) {
          if (socket.destroyed) return;
          socket.write(piece);
          await pause(pauseMs);
          await turn(); // what has come is read first: writing to a connection that was reset would lose it
        }
      })();
    });
  });
}

/**
 * Answers one behind the other, each with a Content-Length; how many of them are whole; and what is left of one whose
 * head is not.
 */
function parse(bytes: Buffer): { responses: Reply[]; whole: number; rest: string } {
  const responses: Reply[] = [];
  let at = 0;
  let whole = 0;
  while (at < bytes.length) {
    const end = bytes.indexOf('\r\n\r\n', at);
    if (end < 0) break;
    const [statusLine = '', ...lines] = bytes.subarray(at, end).toString('latin1').split('\r\n');
    const headers = new Headers(lines.map((line) => line.split(/:(.*)/, 2) as [string, string]));
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]);
    if (status === 100) {
      at = end + 4; // the answer follows
      continue;
    }
    const length = status === 304 || status === 204 ? 0 : Number(headers.get('content-length'));
    at = end + 4 + length;
    if (at <= bytes.length) whole++;
    responses.push({ status, headers, text: bytes.subarray(end + 4, at).toString('utf8') });
  }
  return { responses, whole, rest: bytes.subarray(at).toString('latin1') };
}
