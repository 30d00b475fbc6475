// Sends requests over keep-alive connections, one at a time on each, and counts the answers by their status. General
// load generators need more CPU time than the service: on two cores they would be measured instead of it. Runs in a
// thread of its own.
import { type Socket, connect } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { contentLengthOf } from '../support/reader.js';

export interface Load {
  readonly port: number;
  readonly connections: number;
  readonly seconds: number;
  /** Whole requests, sent in turn. */
  readonly requests: readonly string[];
  /** Ends the run when each request was sent once, and not by the time. */
  readonly once: boolean;
  /** The thread never sleeps: the kernel charges the waking of a thread that sleeps to the process that wakes it. */
  readonly spins?: boolean;
  /** Requests a second at most; without it each connection asks again as soon as it is answered. */
  readonly perSecond?: number;
}

/** Milliseconds from the sending of a request to the end of its answer, by status. */
export type Tally = Record<string, Float64Array>;

const END_OF_HEAD = '\r\n\r\n';
const STATUS_WITHOUT_BODY = '304';

const load = workerData as Load;
const packets = load.requests.map((request) => Buffer.from(request));
const latencies = new Map<string, number[]>();
const startedAt = performance.now();
/** Connections that wait until the next request is due. */
const waiting: Connection[] = [];
let sentCount = 0;
let isRunning = true;

function isOver(): boolean {
  if (load.once) return sentCount >= packets.length;
  return performance.now() >= startedAt + load.seconds * 1000;
}

function isNextDue(): boolean {
  if (load.perSecond === undefined) return true;
  return performance.now() >= startedAt + (sentCount / load.perSecond) * 1000;
}

function note(status: string, milliseconds: number): void {
  const list = latencies.get(status) ?? [];
  list.push(milliseconds);
  latencies.set(status, list);
}

class Connection {
  readonly ended: Promise<void>;
  private readonly socket: Socket;
  private end: () => void = () => undefined;
  private sentAt = 0;
  private head = '';
  private status = '';
  /** Bytes of the body that have not come yet. */
  private missing = 0;

  constructor() {
    this.socket = connect(load.port, '127.0.0.1').setNoDelay(true);
    this.ended = new Promise((resolve, reject) => {
      this.end = resolve;
      this.socket.once('error', reject);
    });
    this.socket.once('connect', () => this.ask());
    this.socket.on('data', (bytes) => this.read(bytes));
  }

  ask(): void {
    if (isOver()) {
      this.socket.end(this.end);
    } else if (isNextDue()) {
      const packet = packets[sentCount % packets.length] as Buffer;
      sentCount++;
      this.sentAt = performance.now();
      this.socket.write(packet);
    } else {
      waiting.push(this);
    }
  }

  private read(bytes: Buffer): void {
    if (this.missing > 0) this.missing -= bytes.length;
    else if (!this.readHead(bytes)) return;
    if (this.missing > 0) return;
    note(this.status, performance.now() - this.sentAt);
    this.ask();
  }

  /** @returns whether the head is whole */
  private readHead(bytes: Buffer): boolean {
    this.head += bytes.toString('latin1');
    const end = this.head.indexOf(END_OF_HEAD);
    if (end < 0) return false;
    this.status = this.head.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length);
    const length = this.status === STATUS_WITHOUT_BODY ? 0 : contentLengthOf(this.head);
    this.missing = length - (this.head.length - end - END_OF_HEAD.length);
    this.head = '';
    return true;
  }
}

function spin(): void {
  if (isRunning) setImmediate(spin);
}

/** Leaves the core to others between the requests. */
function keepPace(): void {
  while (waiting.length > 0 && (isNextDue() || isOver())) waiting.pop()?.ask();
  if (isRunning) setTimeout(keepPace, 1);
}

if (load.spins) spin();
if (load.perSecond !== undefined) keepPace();
const connections = Array.from({ length: load.connections }, () => new Connection());
await Promise.all(connections.map((connection) => connection.ended));
isRunning = false;
const tally: Tally = {};
for (const [status, list] of latencies) tally[status] = Float64Array.from(list);
parentPort?.postMessage(tally);
