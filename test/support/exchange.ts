import { type Socket, connect } from 'node:net';
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
import { inspect } from 'node:util';
import { limitWait } from './waiting.js';

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Reads the whole body of a response of `fetch`. */
export const readReply = async (response: Response): Promise<Reply> => {
  const { status, headers } = response;
  return { status, headers, text: await response.text() };
};

/** The limit of an answer. Keep it below STALL_TIMEOUT_MS of server.adapter.ts, or the service closes first. */
const ANSWER_LIMIT_MS = 40_000;

/** Sends a request. If no answer comes, the error names the request: otherwise the test would only run out of time. */
export async function fetchReply(url: string, options: RequestInit = {}): Promise<Reply> {
  try {
    return await readReply(await fetch(url, { ...options, signal: AbortSignal.timeout(ANSWER_LIMIT_MS) }));
  } catch (cause) {
    throw new Error(`No whole answer to ${options.method ?? 'GET'} ${url}`, { cause });
  }
}

export interface Exchange {
  readonly responses: readonly Reply[];
  /** True if the server closed the connection. */
  readonly closed: boolean;
}

/** The wait for surplus answers after the last expected answer. An answer that comes later is not noticed. */
const QUIET_MS = 50;

/**
 * Sends pieces of bytes as they are, and collects the answers until the server closes the connection.
 * @param options.answers after this number of complete answers, the exchange ends when no byte comes for QUIET_MS
 * @param options.pauseMs the pause after each piece
 */
export async function exchange(
  port: number,
  pieces: string | readonly (string | Buffer)[],
  { answers = Infinity, pauseMs = 5 } = {},
): Promise<Exchange> {
  const list = typeof pieces === 'string' ? [pieces] : pieces;
  let received: Buffer = Buffer.alloc(0);
  let quiet: NodeJS.Timeout | undefined;
  let closed = true;
  const socket = connect(port, '127.0.0.1', () => void sendPieces(socket, list, pauseMs));
  const giveUp = (): void => {
    closed = false;
    socket.destroy();
  };
  socket.on('data', (chunk) => {
    received = Buffer.concat([received, chunk]);
    clearTimeout(quiet);
    if (answers < Infinity && parse(received).whole >= answers) quiet = setTimeout(giveUp, QUIET_MS);
  });
  socket.on('error', () => undefined); // `close` follows
  try {
    await limitWait(
      () => `the end of the connection that sent ${inspect(list)}. It received ${inspect(received.toString('latin1'))}`,
      () => new Promise<void>((resolve) => void socket.once('close', () => resolve())),
    );
  } finally {
    clearTimeout(quiet);
    socket.destroy();
  }
  const { responses, rest } = parse(received);
  if (rest !== '') throw new Error(`an answer without an end: ${rest}`);
  return { responses, closed };
}

async function sendPieces(socket: Socket, pieces: readonly (string | Buffer)[], pauseMs: number): Promise<void> {
  for (const piece of pieces) {
    if (socket.destroyed) return;
    socket.write(piece);
    await pause(pauseMs);
    // First read the answers that have come. If the server has reset the connection, a write would discard them
    await turn();
  }
}

/**
 * Returns the answers in these bytes. An answer with a body needs a Content-Length. `whole` counts complete answers.
 * `rest` is the beginning of a further answer whose header section is not complete.
 */
function parse(bytes: Buffer): { responses: Reply[]; whole: number; rest: string } {
  const responses: Reply[] = [];
  let at = 0;
  let whole = 0;
  while (at < bytes.length) {
    const end = bytes.indexOf('\r\n\r\n', at);
    if (end < 0) break;
    const [statusLine = '', ...lines] = bytes.subarray(at, end).toString('latin1').split('\r\n');
    // `Vary: Origin` becomes ['Vary', ' Origin']
    const headers = new Headers(lines.map((line) => line.split(/:(.*)/, 2) as [string, string]));
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]);
    if (status === 100) {
      at = end + 4; // the final answer follows
      continue;
    }
    const length = status === 304 || status === 204 ? 0 : Number(headers.get('content-length'));
    at = end + 4 + length;
    if (at <= bytes.length) whole++;
    responses.push({ status, headers, text: bytes.subarray(end + 4, at).toString('utf8') });
  }
  return { responses, whole, rest: bytes.subarray(at).toString('latin1') };
}
