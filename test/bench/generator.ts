// A load generator that costs 30 % of what general ones do, so that it is not the bottleneck on two cores: keep-alive connections with one
// request each under way, written as ready bytes, and answers counted by their Content-Length. Runs in a thread of its own.
import { connect } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { contentLengthOf } from '../support/reader.js';

export interface Load {
  readonly port: number;
  readonly connections: number;
  readonly seconds: number;
  /** Whole requests, sent in turn. */
  readonly requests: readonly string[];
  /** Ends the run when each was sent once. */
  readonly once: boolean;
  /** Never sleeps, so that waking it is charged to nobody. */
  readonly spins?: boolean | undefined;
  /** Requests a second, whatever comes back; without it each connection asks again as soon as it is answered. */
  readonly perSecond?: number | undefined;
}

/** Milliseconds from the sending of a request to the end of its answer, by status. */
export type Tally = Record<string, Float64Array>;

const { port, connections, seconds, requests, once, spins, perSecond } = workerData as Load;
const packets = requests.map((request) => Buffer.from(request));
const latencies: Record<string, number[]> = {};
const startedAt = performance.now();
const deadline = startedAt + seconds * 1000;
const free: (() => void)[] = [];
let sent = 0;

const isOver = (): boolean => (once ? sent >= packets.length : performance.now() >= deadline);
/** When the next request is due: at once, unless there is a rate. */
const dueAt = (): number =>
  perSecond === undefined ? startedAt : startedAt + (sent / perSecond) * 1000;

function run(): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let sentAt = 0;
    let missing = 0;
    let head = '';
    let status = '';
    const next = (): void => {
      if (isOver()) return void socket.end(resolve);
      sentAt = performance.now();
      if (dueAt() > sentAt) return void free.push(next);
      socket.write(packets[sent++ % packets.length] as Buffer);
    };
    socket.setNoDelay(true);
    socket.once('connect', next).once('error', reject);
    socket.on('data', (chunk) => {
      if (missing === 0) {
        head += chunk.toString('latin1');
        const end = head.indexOf('\r\n\r\n');
        if (end < 0) return;
        status = head.slice(9, 12);
        const length = status !== '304' ? contentLengthOf(head) : 0;
        missing = length - (head.length - end - 4);
        head = '';
      } else missing -= chunk.length;
      if (missing > 0) return;
      missing = 0;
      (latencies[status] ??= []).push(performance.now() - sentAt);
      next();
    });
  });
}

let running = true;
/** The kernel charges the waking of a generator that sleeps to the server that answers, and most to one that keeps it waiting. */
const spin = (): void => void (running && setImmediate(spin));
/** At a given rate it leaves the core to others between the requests. */
const keepPace = (): void => {
  while (free.length > 0 && (dueAt() <= performance.now() || isOver())) free.pop()?.();
  if (running) setTimeout(keepPace, 1);
};
if (spins) spin();
if (perSecond !== undefined) keepPace();

await Promise.all(Array.from({ length: connections }, run));
running = false;
parentPort?.postMessage(
  Object.fromEntries(
    Object.entries(latencies).map(([status, list]) => [status, Float64Array.from(list)]),
  ) satisfies Tally,
);
