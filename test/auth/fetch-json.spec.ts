// Tests how answers of issuers are read over real connections, and which reason an error names for each fault.
import dns, { type LookupAddress } from 'node:dns';
import { readFileSync } from 'node:fs';
import { type ServerResponse, createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type Server, connect, createServer as createTcpServer, isIP } from 'node:net';
import { Worker } from 'node:worker_threads';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { fetchJson } from '../../src/auth/issuers/fetch-json.js';
import { CertificateAuthority, hasOpenSsl } from '../support/certificates.js';
import { listen } from '../support/ports.js';
import { nextEvent } from '../support/waiting.js';

const servers: Server[] = [];

afterEach(() => {
  jest.restoreAllMocks(); // otherwise the next file of this worker would have the mock, too
  for (const server of servers.splice(0)) server.close();
});

async function serve(server: Server): Promise<string> {
  servers.push(server);
  return `127.0.0.1:${await listen(server)}`;
}

/** Answers the first bytes of each connection with this text, and closes the connection. */
async function serveRaw(answer: string | Buffer): Promise<string> {
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined); // the client has closed first
    socket.once('data', () => socket.end(answer));
  });
  return serve(server);
}

it('if the status of an answer is not 200, the connection is closed without a wait for the body', async () => {
  // The mock removes the time limit, so that nothing else closes the connection
  jest.spyOn(AbortSignal, 'timeout').mockReturnValue(new AbortController().signal);
  const server = createServer();
  const answering = nextEvent(server, 'request') as Promise<[unknown, ServerResponse]>;
  const fetching = fetchJson(`http://${await serve(server)}`);
  const [, response] = await answering;
  const closing = nextEvent(response, 'close');
  response.writeHead(500).write('a body without an end');
  await expect(fetching).rejects.toThrow('answers with status 500');
  await closing;
});

it('each fetch has a connection of its own, so that a balancer can choose another node', async () => {
  let connections = 0;
  const server = createServer((_, response) => response.end('{}'));
  server.on('connection', () => connections++);
  const address = `http://${await serve(server)}`;
  await fetchJson(address);
  await fetchJson(address);
  expect(connections).toBe(2);
});

it('a byte order mark before the JSON is ignored', async () => {
  const address = `http://${await serveRaw('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n\ufeff{}')}`;
  expect(await fetchJson(address)).toEqual({});
});

it.each([
  { coding: 'gzip', encode: gzipSync },
  { coding: 'GZIP', encode: gzipSync },
  { coding: 'deflate', encode: deflateSync },
  { coding: 'br', encode: brotliCompressSync },
])('an answer with the content-encoding $coding is decompressed', async ({ coding, encode }) => {
  const head = `HTTP/1.1 200 OK\r\nContent-Encoding: ${coding}\r\n\r\n`;
  const address = `http://${await serveRaw(Buffer.concat([Buffer.from(head), encode('{}')]))}`;
  expect(await fetchJson(address)).toEqual({});
});

it('an informational response before the answer is ignored', async () => {
  const answers = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}';
  expect(await fetchJson(`http://${await serveRaw(answers)}`)).toEqual({});
});

it('a request asks for compressed JSON, and names the service, because some firewalls want a User-Agent', async () => {
  const server = createServer((request, response) => response.end(JSON.stringify(request.headers)));
  const host = await serve(server);
  expect(await fetchJson(`http://${host}`)).toEqual({
    host,
    accept: 'application/json, application/jwk-set+json',
    'accept-encoding': 'gzip, deflate, br',
    connection: 'close',
    'user-agent': 'order-lookup-services',
  });
});

it('an answer that is not complete within the time limit fails with a reason that names the limit', async () => {
  jest.spyOn(AbortSignal, 'timeout').mockReturnValue(AbortSignal.abort(new DOMException('', 'TimeoutError')));
  await expect(fetchJson(`http://${await serveRaw('')}`)).rejects.toThrow('gives no whole answer within 10 s');
});

/**
 * A server that accepts no connection until the gate opens. Two connections fill its queue. Then the kernel drops the
 * first packet of each further connection.
 */
const FULL_SERVER = `
  const { createServer } = require('node:http');
  const { parentPort, workerData: gate } = require('node:worker_threads');
  const server = createServer((_, response) => response.end('{}'));
  server.listen({ host: '127.0.0.1', port: 0, backlog: 1 }, () => {
    parentPort.postMessage(server.address().port);
    Atomics.wait(gate, 0, 0);
  });
`;

// By default, Node.js tries the next address of a host after 250 ms. The kernel repeats a lost packet after 1 s
it('if the first packet of a connection is lost, a fetch waits until the kernel sends it again', async () => {
  const gate = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(FULL_SERVER, { eval: true, workerData: gate });
  const [port] = (await nextEvent(worker, 'message')) as [number];
  const waiting = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')];
  await Promise.all(waiting.map((socket) => nextEvent(socket, 'connect')));
  const lookup = (_host: string, _options: object, found: (error: null, addresses: LookupAddress[]) => void): void => {
    // The first packet to 127.0.0.1 is lost, and nobody listens at ::1
    const addresses = ['127.0.0.1', '::1'].map((address) => ({ address, family: isIP(address) }));
    found(null, addresses);
    Atomics.store(gate, 0, 1); // opens the gate only now, because `found` has sent the first packet
    Atomics.notify(gate, 0);
  };
  jest.spyOn(dns, 'lookup').mockImplementation(lookup as unknown as typeof dns.lookup);
  try {
    expect(await fetchJson(`http://issuer.example:${port}`)).toEqual({});
  } finally {
    for (const socket of waiting) socket.destroy();
    await worker.terminate();
  }
});

const OK = 'HTTP/1.1 200 OK\r\n';
it.each([
  {
    what: 'a page of HTML',
    answer: `${OK}\r\n <!doctype html>`,
    fault: 'answers with a page (HTML or XML) instead of JSON',
  },
  { what: 'an empty body', answer: `${OK}Content-Length: 0\r\n\r\n`, fault: 'answers with an empty body' },
  {
    what: 'JSON in UTF-16',
    answer: Buffer.concat([Buffer.from(`${OK}\r\n`), Buffer.from('{}', 'utf16le')]),
    fault: 'a text that is not JSON',
  },
  { what: 'half a JSON document', answer: `${OK}\r\n{"keys":[`, fault: 'a text that is not JSON' },
  {
    what: 'a body shorter than its Content-Length',
    answer: `${OK}Content-Length: 9\r\n\r\n{}`,
    fault: 'the connection was closed',
  },
  { what: 'a faulty chunk', answer: `${OK}Transfer-Encoding: chunked\r\n\r\nx\r\n{}`, fault: 'is not HTTP/1.1' },
  {
    what: 'plain text with the content-encoding gzip',
    answer: `${OK}Content-Length: 2\r\nContent-Encoding: gzip\r\n\r\n{}`,
    fault: 'content-encoding',
  },
  {
    what: 'plain text with the content-encoding br',
    answer: `${OK}Content-Length: 2\r\nContent-Encoding: br\r\n\r\n{}`,
    fault: 'content-encoding',
  },
  {
    what: 'gzip without a content-encoding',
    answer: Buffer.concat([Buffer.from(`${OK}\r\n`), gzipSync('{}')]),
    fault: 'a text that is not JSON',
  },
  {
    what: 'headers of 20 KB',
    answer: `${OK}Set-Cookie: ${'a'.repeat(20_000)}\r\n\r\n{}`,
    fault: 'the headers of the answer have more than 16 KiB',
  },
  { what: 'a redirect', answer: 'HTTP/1.1 301 Moved\r\nLocation: /a\r\n\r\n', fault: 'redirects (status 301) to' },
  { what: 'a connection that closes without an answer', answer: '', fault: 'the connection was closed' },
  { what: 'an answer of another protocol (SSH)', answer: 'SSH-2.0-OpenSSH\r\n', fault: 'is not HTTP/1.1' },
])('$what fails with the reason "$fault"', async ({ answer, fault }) => {
  await expect(fetchJson(`http://${await serveRaw(answer)}`)).rejects.toThrow(fault);
});

it('a body without an end fails after the time limit, and its connection is closed', async () => {
  const limit = new AbortController();
  jest.spyOn(AbortSignal, 'timeout').mockReturnValue(limit.signal);
  const server = createServer((_, response) => response.writeHead(200).write('{'));
  const answering = nextEvent(server, 'request') as Promise<[unknown, ServerResponse]>;
  const fetching = fetchJson(`http://${await serve(server)}`);
  const [, response] = await answering;
  const closing = nextEvent(response, 'close');
  limit.abort();
  await expect(fetching).rejects.toThrow('gives no whole answer within 10 s');
  await closing;
});

it('a server without TLS at an https address fails with the reason "does not speak TLS"', async () => {
  await expect(fetchJson(`https://${await serveRaw('HTTP/1.1 400 Bad\r\n\r\n')}`)).rejects.toThrow(
    'does not speak TLS',
  );
});

(hasOpenSsl ? describe : describe.skip)('a server with TLS', () => {
  let authority: CertificateAuthority;
  beforeAll(() => {
    authority = new CertificateAuthority();
  });
  afterAll(() => authority.remove());

  it('is offered only HTTP/1.1, so that a server which speaks only HTTP/2 fails with a clear reason', async () => {
    const { cert, key } = authority.issue('issuer', 'IP:127.0.0.1');
    const offered: string[] = [];
    // Like a server that speaks only HTTP/2, the callback accepts none of the offered protocols
    const ALPNCallback = ({ protocols }: { protocols: string[] }): undefined => {
      offered.push(...protocols);
    };
    const server = createTlsServer({ key: readFileSync(key), cert: readFileSync(cert), ALPNCallback });
    await expect(fetchJson(`https://${await serve(server)}`)).rejects.toThrow('speaks HTTP/2 only');
    expect(offered).toEqual(['http/1.1']);
  });

  it.each([
    { what: 'sends no intermediate certificate', sendsCa: false, fault: 'sends no intermediate certificate' },
    {
      what: 'has a certificate of an unknown CA',
      sendsCa: true,
      fault: 'this machine does not know the root CA',
    },
  ])('that $what fails with the reason "$fault"', async ({ sendsCa, fault }) => {
    const { cert, key } = authority.issue('issuer', 'IP:127.0.0.1');
    const chain = [cert, ...(sendsCa ? [authority.cert] : [])].map((file) => readFileSync(file, 'utf8'));
    const server = createTlsServer({ key: readFileSync(key), cert: chain.join('') });
    await expect(fetchJson(`https://${await serve(server)}`)).rejects.toThrow(fault);
  });
});
