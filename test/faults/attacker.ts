// A thread that opens connections, sends the same bytes on each, and reports how many of them the service closed. It
// uses 127.0.0.2. Other callers use 127.0.0.1, so the thread takes none of their ports.
import { type Socket, connect } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

export interface Attack {
  readonly port: number;
  readonly count: number;
  readonly bytes: string;
  /** If false, the attacker never reads the answers. */
  readonly isReading: boolean;
  /** The duration of the attack. Then the connections that are still open are counted. */
  readonly seconds: number;
}

const { port, count, bytes, isReading, seconds } = workerData as Attack;
const packet = Buffer.from(bytes);
const open = new Set<Socket>();
for (let at = 0; at < count; at++) {
  const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' });
  open.add(socket);
  socket.on('error', () => undefined).once('close', () => open.delete(socket));
  socket.once('connect', () => socket.write(packet));
  if (isReading) socket.resume();
  else socket.pause();
}
setTimeout(() => {
  parentPort?.postMessage(count - open.size);
  for (const socket of open) socket.destroy();
}, seconds * 1000);
