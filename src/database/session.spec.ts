import { once } from 'node:events';
import { type AddressInfo, type Server, createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Pool } from 'pg';
import { Session, type SessionOptions } from './session.js';

/** A server that accepts connections and never says anything. */
let server: Server;
let options: SessionOptions;

beforeEach(async () => {
  server = createServer((socket) => socket.on('error', () => undefined).resume());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  options = {
    address: { DATABASE_URL: `postgres://u:p@127.0.0.1:${port}/d?sslmode=disable` },
    connectionTimeoutMillis: 0,
  };
});
afterEach(() => void server.close());

describe('a session that is destroyed while it connects', () => {
  it.each([
    ['before the connection is made', false],
    ['while the server is silent', true],
  ])('%s, fails once', async (_when, isAccepted) => {
    const session = new Session(options);
    const accepted = once(server, 'connection');
    const connected = session.connect();
    if (isAccepted) await accepted;
    session.destroy();
    await expect(connected).rejects.toThrow('the connection was closed');
  });

  it('leaves its place in a pool', async () => {
    const sessions = new Set<Session>();
    const pool = new Pool({ ...options, Client: Session, max: 1, sessions } as object);
    for (let round = 0; round < 3; round++) {
      const accepted = once(server, 'connection');
      const connected = pool.connect();
      await accepted;
      for (const session of sessions) session.destroy();
      await expect(connected).rejects.toThrow('the connection was closed');
    }
    expect({ inUse: pool.totalCount, left: sessions.size }).toEqual({ inUse: 0, left: 0 });
  });

  it('says why when the connection string cannot be read', async () => {
    const session = new Session({ address: { DATABASE_URL_FILE: '/nonexistent/file' } });
    await expect(session.connect()).rejects.toThrow('DATABASE_URL_FILE');
  });
});
