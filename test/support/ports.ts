// Ports of the loopback address. A server in the test's process listens on port 0, which means any free port. A program
// that needs to know its port before it starts, or that starts again on the same port, uses `findFreePort`.
import { once } from 'node:events';
import { type AddressInfo, type Server, createServer } from 'node:net';

/** Makes a server listen on any free port, and returns this port. */
export async function listen(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

/**
 * The port at which the search for the next free port begins. It is below 32,768, where the ports of outgoing
 * connections begin: such a connection could take the port before the program does.
 */
let candidate = 10_000 + ((process.pid * 101) % 20_000); // consecutive processes begin 101 ports apart

/** Returns a port on which nobody listens. */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = candidate++;
    if (await isFree(port)) return port;
  }
}

export const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer().once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
