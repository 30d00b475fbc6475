import { type Server, type Socket, createServer } from 'node:net';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { listen } from '../support/ports.js';
import { PROJECT, endOf, startProgram } from '../support/program.js';
import { nextEvent } from '../support/waiting.js';

/** A database that never answers, so that each command still waits when the signal comes. */
let silent: Server;
let url: string;
beforeAll(async () => {
  silent = createServer();
  const port = await listen(silent);
  url = `postgres://user:password@127.0.0.1:${port}/database`;
});
afterAll(() => {
  silent.close();
});

it.each([
  { line: 'migrate status', signal: 'SIGTERM', status: 143 },
  { line: 'keys list', signal: 'SIGINT', status: 130 },
  { line: 'codes show', signal: 'SIGHUP', status: 129 },
  { line: 'doctor', signal: 'SIGTERM', status: 143 },
] as const)('$line handles $signal, and ends with the status $status', async ({ line, signal, status }) => {
  const [program = '', ...words] = line.split(' ');
  const command = [process.execPath, `dist/${program}.js`, ...words];
  const connected = nextEvent(silent, 'connection');
  const running = startProgram(command, PROJECT, { DATABASE_URL: url });
  const [socket] = (await connected) as [Socket];
  running.child.kill(signal);
  // Without a listener for the signal, the status would be null, and process 1 of a container would never end
  expect((await endOf(running)).status).toBe(status);
  socket.destroy();
});
