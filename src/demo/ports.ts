import { once } from 'node:events';
import { type AddressInfo, type Server, createServer } from 'node:net';

/** Lets a server listen on 127.0.0.1, on the wanted port or, if that fails, on any free port. Returns the port. */
export async function listenPreferably(server: Server, wanted: number): Promise<number> {
  server.listen(wanted, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    if (wanted === 0) throw error;
    return listenPreferably(server, 0);
  }
  const { port } = server.address() as AddressInfo;
  return port;
}

/** Returns the wanted port if it is free, else any free port. Another program may take it before we use it. */
export async function choosePort(wanted: number): Promise<number> {
  const server = createServer();
  const port = await listenPreferably(server, wanted);
  server.close();
  await once(server, 'close');
  return port;
}
