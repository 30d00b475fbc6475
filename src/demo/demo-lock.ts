import { once } from 'node:events';
import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, type Server, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { StartError } from '../configuration/start-error.js';
import { DATA, PROJECT } from './demo-folder.js';

const PORT_FILE = join(DATA, 'lock-port');
const PROCESS_FILE = join(DATA, 'demo.pid');
/** A demo that runs answers at once. */
const ANSWER_MS = 2_000;

/**
 * Makes this process the only demo that uses `.data/`. The lock is a port that is kept in a file: the system gives it
 * to one process, and takes it back when that process ends, however it ends.
 * @throws StartError if another demo has it
 */
export async function lockDemo(): Promise<void> {
  for (;;) {
    const port = await lockPort();
    const server = createServer((socket) => socket.on('error', () => undefined).end(PROJECT));
    if (await canListen(server, port)) {
      server.unref();
      writeFileSync(PROCESS_FILE, `${process.pid}`);
      return;
    }
    if ((await answerAt(port)) === PROJECT) throw new StartError(runsAlready());
    rmSync(PORT_FILE, { force: true }); // another program has the port by now
  }
}

/** For whoever starts a second demo. A demo that was stopped by Ctrl-Z ends when it is continued. */
export function runsAlready(): string {
  const processId = existsSync(PROCESS_FILE) ? readFileSync(PROCESS_FILE, 'utf8') : 'PID';
  return (
    `The demo runs already, as process ${processId}. Use it, or stop it with Ctrl-C in its terminal, ` +
    `or with: kill ${processId}; kill -CONT ${processId}`
  );
}

/** The kept port, or a free one that is kept from now on. */
async function lockPort(): Promise<number> {
  if (!existsSync(PORT_FILE)) keepPort(await freePort());
  const port = Number(readFileSync(PORT_FILE, 'utf8'));
  const isPort = Number.isInteger(port) && port > 0 && port < 65_536;
  if (isPort) return port;
  rmSync(PORT_FILE);
  return lockPort();
}

/** The first of several starts writes the file; the others take its port. */
function keepPort(port: number): void {
  const unfinished = `${PORT_FILE}.${process.pid}`;
  writeFileSync(unfinished, `${port}`);
  try {
    linkSync(unfinished, PORT_FILE);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(unfinished);
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await canListen(server, 0);
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

async function canListen(server: Server, port: number): Promise<boolean> {
  server.listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
    return true;
  } catch {
    return false;
  }
}

/** What the program at a port says before it ends the connection; nothing if it does not. */
async function answerAt(port: number): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.setTimeout(ANSWER_MS, () => socket.destroy(new Error('no answer')));
  try {
    return await text(socket);
  } catch {
    return '';
  }
}
