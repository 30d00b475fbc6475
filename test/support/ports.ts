// Ports of the loopback address. A server of the test takes any; a program that is told its port beforehand, or that
// starts again on the same one, needs a free one.
import { once } from 'node:events';
import { type AddressInfo, type Server, createServer } from 'node:net';

/** Has a server listen on any port, and gives the port. */
export async function listen(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

/**
 * Where the search for the next free port begins: below the ports that the system gives to outgoing connections (from
 * 32,768 on), one of which would take the port before the program does, and apart for each process.
 */
let candidate = 10_000 + ((process.pid * 101) % 20_000);

/** A port that nobody listens on. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = candidate++;
    if (await isFree(port)) return port;
  }
}

/** Whether nobody listens on a port. */
export const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer().once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
