// Sends requests over keep-alive connections, one at a time on each, and counts the answers by their status. General
// load generators need more CPU time than the service: on two cores they would be measured instead of it. Runs in a
// thread of its own.
import { type Socket, connect } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { contentLengthOf } from '../support/reader.js';

export interface Load {
  readonly port: number;
  readonly connections: number;
  /** Whole requests, sent in turn. */
  readonly requests: readonly string[];
  readonly end: LoadEnd;
  /** The thread never sleeps: the kernel charges the waking of a thread that sleeps to the process that wakes it. */
  readonly spins?: boolean;
  /** Requests a second at most; without it each connection asks again as soon as it is answered. */
  readonly perSecond?: number;
}

/** When the run ends: after a time, or when each request was sent once. */
export type LoadEnd = { readonly kind: 'time'; readonly seconds: number } | { readonly kind: 'all sent' };

/** How many answers there were, by status. */
export type Tally = Record<string, number>;

const END_OF_HEAD = '\r\n\r\n';
const STATUS_WITHOUT_BODY = '304';

const load = workerData as Load;
const packets = load.requests.map((request) => Buffer.from(request));
const tally: Tally = {};
const startedAt = performance.now();
/** Connections that wait until the next request is due. */
const waiting: Connection[] = [];
let sentCount = 0;
let isRunning = true;

function isOver(): boolean {
  if (load.end.kind === 'all sent') return sentCount >= packets.length;
  return performance.now() >= startedAt + load.end.seconds * 1000;
}

function isNextDue(): boolean {
  if (load.perSecond === undefined) return true;
  return performance.now() >= startedAt + (sentCount / load.perSecond) * 1000;
}

class Connection {
  readonly ended: Promise<void>;
  private readonly socket: Socket;
  private end: () => void = () => undefined;
  private head = '';
  private status = '';
  /** Bytes of the body that have not come yet. */
  private missing = 0;

  constructor() {
    this.socket = connect(load.port, '127.0.0.1').setNoDelay(true);
    this.ended = new Promise((resolve, reject) => {
      this.end = resolve;
      this.socket.once('error', reject);
      // Without effect where this end came first
      this.socket.once('close', () => reject(new Error('the server closed a connection')));
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
      this.socket.write(packet);
    } else {
      waiting.push(this);
    }
  }

  private read(bytes: Buffer): void {
    if (this.missing > 0) this.missing -= bytes.length;
    else if (!this.readHead(bytes)) return;
    if (this.missing > 0) return;
    tally[this.status] = (tally[this.status] ?? 0) + 1;
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
  while (waiting.length > 0 && (isNextDue() || isOver())) waiting.shift()?.ask();
  if (isRunning) setTimeout(keepPace, 1);
}

if (load.spins) spin();
if (load.perSecond !== undefined) keepPace();
const connections = Array.from({ length: load.connections }, () => new Connection());
await Promise.all(connections.map((connection) => connection.ended));
isRunning = false;
parentPort?.postMessage(tally);
