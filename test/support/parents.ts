import { randomBytes, randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { PATHS } from './paths.js';

interface Asked {
  readonly requestId: string;
  /** `<trace id>-<span id>` of the caller. */
  readonly parent: string;
}

interface Target {
  readonly service: { readonly port: number };
  readonly key: { readonly key: string };
  readonly token: string;
}

const PIPELINED = 20;

/** Sends requests over several connections, `PIPELINED` at a time on each, every one with a parent of its own; resolves when all are answered: with 200, or with 503 where the machine is busy, which leaves a span as well. */
export async function askWithParents(
  target: Target,
  { connections, requests }: { connections: number; requests: number },
): Promise<Asked[]> {
  const each = Array.from({ length: connections }, () => onOneConnection(target, requests));
  return (await Promise.all(each)).flat();
}

function onOneConnection({ service, key, token }: Target, requests: number): Promise<Asked[]> {
  const asked: Asked[] = [];
  const socket = connect(service.port, '127.0.0.1');
  const more = (): void => {
    let text = '';
    for (let times = 0; times < PIPELINED && asked.length < requests; times++) {
      const requestId = randomUUID();
      const parent = `${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}`;
      asked.push({ requestId, parent });
      text += `HEAD ${PATHS.orderUpdate} HTTP/1.1\r\nHost: x\r\nApi-Key: ${key.key}\r\nAuthorization: ${token}\r\nX-Request-Id: ${requestId}\r\ntraceparent: 00-${parent}-01\r\n\r\n`;
    }
    socket.write(text);
  };
  return new Promise((resolve, reject) => {
    let answered = 0;
    let rest = '';
    socket.setEncoding('latin1').on('data', (text: string) => {
      const replies = (rest + text).split('\r\n\r\n');
      rest = replies.pop() ?? '';
      for (const reply of replies)
        if (!/^HTTP\/1\.1 (200|503)/.test(reply)) return reject(new Error(reply));
      answered += replies.length;
      if (answered === requests) {
        socket.end();
        resolve(asked);
      } else if (answered === asked.length) more();
    });
    socket.once('error', reject).once('connect', more);
  });
}
