import { type Socket, connect } from 'node:net';
import { once } from 'node:events';
import { randomUUID } from 'node:crypto';
import { residentMebibytes } from '../support/linux-process.js';
import { PATHS } from '../support/paths.js';
import { Stage } from '../support/stage.js';
import { median } from './figures.js';

const CONNECTIONS = 1_000;
const PIPELINED = 10;
/** Bursts before memory is measured for the first time. */
const WARM = 5;

interface Outcome {
  /** Milliseconds until the last answer. */
  readonly slowest: number;
  readonly refused: number;
  readonly disordered: number;
}

/**
 * Sends bursts of 10 pipelined requests on each of 1,000 connections, each when the one before has been answered. The time that the machine needs
 * for them is measured with as many requests on 50 connections, 10 at a time.
 */
export async function bursts(count = 30): Promise<string> {
  const stage = await Stage.set(1);
  const [{ port, pid }] = stage.replicas as [(typeof stage.replicas)[number]];
  const open = async (): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1').setNoDelay(true);
    await once(socket, 'connect');
    return socket;
  };
  const { key, token } = stage.credentials;
  const requestOf = (id: string): string =>
    `GET ${PATHS.orderUpdate} HTTP/1.1\r\nHost: x\r\nApi-Key: ${key}\r\nAuthorization: ${token}\r\nX-Request-Id: ${id}\r\n\r\n`;
  const send = (socket: Socket, each: number): Promise<Omit<Outcome, 'slowest'>> =>
    new Promise((resolve, reject) => {
      const ids = Array.from({ length: each }, () => randomUUID());
      const outcome = { refused: 0, disordered: 0 };
      let text = '';
      let answers = 0;
      let from = 0;
      const onClose = (): void => reject(new Error('a connection was closed'));
      const onData = (chunk: Buffer): void => {
        text += chunk.toString('latin1');
        for (let end; (end = text.indexOf('\r\n\r\n', from)) >= 0; from = end + 4) {
          const head = text.slice(text.indexOf('HTTP/1.1 ', from), end);
          if (head.startsWith('503', 9)) outcome.refused++;
          if (!head.includes(ids[answers++] as string)) outcome.disordered++;
        }
        if (answers < each || !text.endsWith('}')) return; // each body is JSON
        socket.off('data', onData).off('close', onClose);
        resolve(outcome);
      };
      socket.on('data', onData).once('close', onClose);
      socket.write(ids.map(requestOf).join(''));
    });
  const burst = async (sockets: readonly Socket[], each: number): Promise<Outcome> => {
    const startedAt = performance.now();
    const all = await Promise.all(sockets.map((socket) => send(socket, each)));
    const sum = (of: 'refused' | 'disordered'): number =>
      all.reduce((total, outcome) => total + outcome[of], 0);
    return {
      slowest: performance.now() - startedAt,
      refused: sum('refused'),
      disordered: sum('disordered'),
    };
  };
  try {
    const sockets = await Promise.all(Array.from({ length: CONNECTIONS }, open));
    const few = sockets.slice(0, 50);
    const needed: number[] = [];
    const outcomes: Outcome[] = [];
    let before = 0;
    for (let turn = 0; turn < WARM + count; turn++) {
      const startedAt = performance.now();
      await Promise.all(
        few.map(async (socket) => {
          for (let part = 0; part < CONNECTIONS / few.length; part++) await send(socket, PIPELINED);
        }),
      );
      const alone = performance.now() - startedAt;
      const outcome = await burst(sockets, PIPELINED);
      if (turn === WARM) before = residentMebibytes(pid);
      if (turn < WARM) continue;
      needed.push(alone);
      outcomes.push(outcome);
    }
    const after = residentMebibytes(pid);
    for (const socket of sockets) socket.removeAllListeners('close').destroy();
    const total = (of: 'refused' | 'disordered'): number =>
      outcomes.reduce((sum, outcome) => sum + outcome[of], 0);
    const slowest = median(outcomes.map((outcome) => outcome.slowest));
    return [
      `${count} bursts of ${CONNECTIONS * PIPELINED} requests: ${total('refused')} refused, ${total('disordered')} out of order`,
      `slowest answer of a burst: median ${slowest.toFixed(0)} ms, ${(slowest / median(needed)).toFixed(2)} times what as many take on ${few.length} connections`,
      `resident memory ${before.toFixed(0)} MiB after ${WARM} bursts, ${after.toFixed(0)} MiB at the end`,
    ].join('\n');
  } finally {
    await stage.strike();
  }
}
