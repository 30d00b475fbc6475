// Sends requests over persistent connections, one at a time on each, and counts the answers by status. It runs in its
// own thread. Other load generators need more CPU time than the service: on two cores, they would limit the load.
import { type Socket, connect } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { contentLengthOf } from '../support/reader.js';

export interface Load {
  readonly port: number;
  readonly connections: number;
  /** Whole requests, which are sent one after the other. */
  readonly requests: readonly string[];
  readonly end: LoadEnd;
  /** True if the thread never sleeps. If it slept, the kernel would count each waking as CPU time of the server. */
  readonly spins?: boolean;
  /** The limit of requests a second. Without a limit, each connection sends again after each answer. */
  readonly perSecond?: number;
}

/** The end of the run: after a time, or after each request was sent once. */
export type LoadEnd = { readonly kind: 'time'; readonly seconds: number } | { readonly kind: 'all sent' };

export type Tally = Record<string, number>;

const END_OF_HEAD = '\r\n\r\n';
const STATUS_WITHOUT_BODY = '304';

const load = workerData as Load;
const packets = load.requests.map((request) => Buffer.from(request));
const tally: Tally = {};
const startedAt = performance.now();
/** The connections that wait until the next request is due. */
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
  private resolveEnded: () => void = () => undefined;
  private head = '';
  private status = '';
  /** The number of bytes of the body that have not come yet. */
  private missing = 0;

  constructor() {
    this.socket = connect(load.port, '127.0.0.1').setNoDelay(true);
    this.ended = new Promise((resolve, reject) => {
      this.resolveEnded = resolve;
      this.socket.once('error', reject);
      // If this side has ended the connection, the promise is settled already, and the error has no effect
      this.socket.once('close', () => reject(new Error('the server closed a connection')));
    });
    this.socket.once('connect', () => this.ask());
    this.socket.on('data', (bytes) => this.read(bytes));
  }

  ask(): void {
    if (isOver()) {
      this.socket.end(this.resolveEnded);
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

  /** @returns whether the whole head has come */
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
