import { once } from 'node:events';
import { type ServerResponse, createServer } from 'node:http';
import { afterEach, expect, it, jest } from '@jest/globals';
import { fetchJson } from '../../src/auth/issuers/fetch-json.js';
import { listen } from '../support/ports.js';

afterEach(() => void jest.restoreAllMocks()); // the limit is one for all files that a worker runs

it('the body of an answer with another status than 200 is not waited for, and its connection is closed', async () => {
  // Without a limit of time nothing else closes the connection
  jest.spyOn(AbortSignal, 'timeout').mockReturnValue(new AbortController().signal);
  const server = createServer();
  const answering = once(server, 'request') as Promise<[unknown, ServerResponse]>;
  const fetching = fetchJson(`http://127.0.0.1:${await listen(server)}`);
  const [, response] = await answering;
  const closing = once(response, 'close');
  response.writeHead(500).write('a body without an end');
  await expect(fetching).rejects.toThrow('does not answer as it should');
  await closing;
  server.close().closeAllConnections(); // one would keep the worker of Jest alive
});
