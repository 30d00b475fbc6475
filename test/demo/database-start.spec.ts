// Tests how long the demo waits for a server. The server is an object with a lock file, and the test has its port.
import { type Server, type Socket, createServer } from 'node:net';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { DatabaseStart } from '../../src/demo/database-start.js';
import type { PostgresServer } from '../../src/demo/postgres-server.js';
import { listen } from '../support/ports.js';
import { IS_STARTING, encodeRefusal } from '../support/postgres-protocol.js';
import { limitWait, nextEvent } from '../support/waiting.js';

const WRITTEN_AT_MS = Date.UTC(2026, 10, 30);

let listener: Server;
let client: Socket | undefined;
let lockFile: PostgresServer['lockFile'];
let start: () => Promise<void>;
let stops: string[];
const removeStaleLockFile = jest.fn(() => {
  lockFile = undefined;
});
const server = {
  folder: '/nowhere',
  data: '/nowhere/postgres',
  log: '/nowhere/log',
  isInitialised: true,
  get lockFile() {
    return lockFile;
  },
  start: () => start(),
  stop: async () => void stops.push('stop'),
  removeStaleLockFile,
} as unknown as PostgresServer;

beforeEach(async () => {
  start = async () => undefined;
  stops = [];
  listener = createServer((socket) => {
    client = socket;
  });
  lockFile = { processId: 1, port: await listen(listener), writtenAtMs: WRITTEN_AT_MS };
});
afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
  listener.close();
  client?.destroy(); // if a test fails, its client is still connected
});

const openSession = (): Promise<unknown> =>
  limitWait('the end of the start', () => new DatabaseStart(server, 'password').openSession());

it('gives up a port that has not answered after 5 s', async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance', 'Date'] });
  const connected = nextEvent(listener, 'connection');
  const opening = expect(openSession()).rejects.toThrow('its server accepts no session');
  await connected;
  lockFile = undefined; // so that the next look at the lock file finds no server
  jest.advanceTimersByTime(4_999);
  expect(jest.getTimerCount()).toBe(1);
  jest.advanceTimersByTime(1);
  expect(jest.getTimerCount()).toBe(0);
  await opening;
});

it('asks a server that repairs its data again for a minute', async () => {
  const now = jest.spyOn(performance, 'now').mockReturnValue(0);
  const times = [0, 60_000, 60_001];
  let attempts = 0;
  listener.on('connection', (socket) => {
    now.mockReturnValue(times[attempts] ?? Infinity);
    attempts += 1;
    socket.once('data', () => socket.end(IS_STARTING));
  });
  await expect(openSession()).rejects.toThrow('the database system is starting up');
  expect(attempts).toBe(times.length);
});

it('does not stop the server of another demo, which started first and has too many clients', async () => {
  listener.on('connection', (socket) => {
    socket.once('data', () => socket.end(encodeRefusal('53300', 'sorry, too many clients already')));
  });
  const lockFileOfOther = lockFile;
  lockFile = undefined;
  start = async () => {
    lockFile = lockFileOfOther;
    throw new Error('lock file "postmaster.pid" already exists');
  };
  await expect(openSession()).rejects.toThrow('does not start: sorry, too many clients already.');
  expect(stops).toEqual([]);
});

it('leaves a server alone that refuses the session because it has too many clients', async () => {
  listener.on('connection', (socket) => {
    socket.once('data', () => socket.end(encodeRefusal('53300', 'sorry, too many clients already')));
  });
  await expect(openSession()).rejects.toThrow('does not start: sorry, too many clients already.');
  expect(removeStaleLockFile).not.toHaveBeenCalled();
});

it.each([
  { what: 'is older than 10 s', limitMs: 10_000, pastLimitMs: 10_001 },
  { what: 'is of a time more than 10 s ahead', limitMs: -10_000, pastLimitMs: -10_001 },
])('removes a lock file that $what, if its server does not answer', async ({ limitMs, pastLimitMs }) => {
  removeStaleLockFile.mockClear();
  lockFile = { processId: 1, port: 0, writtenAtMs: WRITTEN_AT_MS };
  const now = jest.spyOn(Date, 'now').mockReturnValueOnce(WRITTEN_AT_MS + limitMs);
  now.mockReturnValueOnce(WRITTEN_AT_MS + pastLimitMs).mockReturnValue(Infinity);
  await expect(openSession()).rejects.toThrow('its server accepts no session');
  expect([now.mock.calls.length, removeStaleLockFile.mock.calls.length]).toEqual([2, 1]);
});
