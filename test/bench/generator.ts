// A load generator that costs a third of what general ones do, so that it is not the bottleneck on two cores: keep-alive connections with one
// request each under way, written as ready bytes, and answers counted by their Content-Length. Runs as a process of its own.
import { connect } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

export interface Load {
  readonly port: number;
  readonly connections: number;
  readonly seconds: number;
  /** Whole requests, sent in turn. */
  readonly requests: readonly string[];
  /** Ends the run when each was sent once. */
  readonly once: boolean;
  readonly hasBody: boolean;
}

export interface Tally {
  readonly statuses: Record<string, number>;
  /** Milliseconds, one for each request. */
  readonly latencies: Float64Array;
}

const { port, connections, seconds, requests, once, hasBody } = workerData as Load;
const packets = requests.map((request) => Buffer.from(request));
const statuses: Record<string, number> = {};
const latencies: number[] = [];
const deadline = performance.now() + seconds * 1000;
let sent = 0;

function run(): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let startedAt = 0;
    let missing = 0;
    let head = '';
    const next = (): void => {
      if (once ? sent >= packets.length : performance.now() >= deadline) return void socket.end(resolve);
      startedAt = performance.now();
      socket.write(packets[sent++ % packets.length] as Buffer);
    };
    socket.setNoDelay(true);
    socket.once('connect', next).once('error', reject);
    socket.on('data', (chunk) => {
      if (missing === 0) {
        head += chunk.toString('latin1');
        const end = head.indexOf('\r\n\r\n');
        if (end < 0) return;
        const status = head.slice(9, 12);
        statuses[status] = (statuses[status] ?? 0) + 1;
        const length = hasBody && status !== '304' ? Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0) : 0;
        missing = length - (head.length - end - 4);
        head = '';
      } else missing -= chunk.length;
      if (missing > 0) return;
      missing = 0;
      latencies.push(performance.now() - startedAt);
      next();
    });
  });
}

// The generator never sleeps: waking it would be charged to the server that answers, and most to one that keeps it waiting
let spinning = true;
const spin = (): void => void (spinning && setImmediate(spin));
spin();

await Promise.all(Array.from({ length: connections }, run));
spinning = false;
parentPort?.postMessage({ statuses, latencies: Float64Array.from(latencies) } satisfies Tally);
