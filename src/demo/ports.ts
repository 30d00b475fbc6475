import { once } from 'node:events';
import { type AddressInfo, type Server, createServer } from 'node:net';

/** Has a server listen on this machine: on the wanted port if a program can have it, else on any. Gives the port. */
export async function listen(server: Server, wanted: number): Promise<number> {
  server.listen(wanted, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    if (wanted === 0) throw error;
    return listen(server, 0);
  }
  const { port } = server.address() as AddressInfo;
  return port;
}

/** The wanted port if nobody listens there now, else any free one. */
export async function findFreePort(wanted: number): Promise<number> {
  const server = createServer();
  const port = await listen(server, wanted);
  server.close();
  await once(server, 'close');
  return port;
}
