import { type Server as HttpServer, createServer as createHttpServer } from 'node:http';
import { type AddressInfo, type Server, connect } from 'node:net';
import { readFileSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CertificateAuthority, hasOpenSsl } from '../support/certificates.js';
import { type TestDatabase, createDatabase } from '../support/database.js';
import { Issuer } from '../support/issuer.js';
import { type IssuedKey, issueKey } from '../support/keys.js';
import { PATHS } from '../support/paths.js';
import { run } from '../support/program.js';
import { RunningService } from '../support/service.js';

// Node.js reads the proxy variables from 22.21 and 24.5 on
const readsProxy = process.allowedNodeEnvironmentFlags.has('--use-env-proxy');
const isPossible = hasOpenSsl && readsProxy;
const suite = isPossible ? describe : describe.skip;

let authority: CertificateAuthority;
let database: TestDatabase;
let key: IssuedKey;
let issuer: Issuer;
let front: Server;
let proxy: HttpServer;
const asked: (string | undefined)[] = [];

const listening = async <S extends Server | HttpServer>(server: S): Promise<S> => {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return server;
};
const portOf = (server: Server | HttpServer): number => (server.address() as AddressInfo).port;

/** An issuer that only the proxy can find, with a certificate of a private CA. */
beforeAll(async () => {
  if (!isPossible) return;
  authority = new CertificateAuthority();
  const { cert, key: privateKey } = authority.issue('issuer', 'DNS:issuer.invalid');
  [database, issuer] = await Promise.all([
    createDatabase(),
    Issuer.start({ name: 'https://issuer.invalid' }),
  ]);
  key = await issueKey(database);
  front = await listening(
    createTlsServer({ cert: readFileSync(cert), key: readFileSync(privateKey) }, (socket) => {
      const upstream = connect(issuer.port, '127.0.0.1');
      socket.pipe(upstream).pipe(socket);
      for (const end of [socket, upstream]) end.on('error', () => end.destroy());
    }),
  );
  proxy = await listening(createHttpServer());
  proxy.on('connect', ({ url }, client, head: Buffer) => {
    asked.push(url);
    const upstream = connect(portOf(front), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.write(head);
      client.pipe(upstream).pipe(client);
    });
    for (const end of [client, upstream]) end.on('error', () => end.destroy());
  });
});
afterAll(async () => {
  if (!isPossible) return;
  for (const server of [front, proxy]) server.close();
  await Promise.all([issuer.close(), database.drop()]);
  authority.remove();
});

const environment = (...left: string[]): Record<string, string> =>
  Object.fromEntries(
    Object.entries({
      DATABASE_URL: database.urlOf('order_lookup_service'),
      ...issuer.environment,
      HTTPS_PROXY: `http://127.0.0.1:${portOf(proxy)}`,
      NODE_USE_ENV_PROXY: '1',
      NODE_EXTRA_CA_CERTS: authority.cert,
    }).filter(([name]) => !left.includes(name)),
  );

suite('an issuer behind a proxy, with a certificate of a private CA', () => {
  it('is reached through HTTPS_PROXY, and trusted because of NODE_EXTRA_CA_CERTS', async () => {
    const service = await RunningService.start(environment());
    try {
      await service.ready();
      const response = await fetch(service.url + PATHS.orderUpdate, {
        headers: { 'Api-Key': key.key, Authorization: `Bearer ${await issuer.token()}` },
      });
      expect(response.status).toBe(200);
      expect(new Set(asked)).toEqual(new Set(['issuer.invalid:443']));
    } finally {
      await service.kill();
    }
  });

  it('is not found or not trusted without one of the variables, and the doctor says which', async () => {
    const doctor = async (left: string): Promise<string> =>
      (await run('doctor.js', [], environment(left))).stdout;
    const [untrusted, direct] = await Promise.all([
      doctor('NODE_EXTRA_CA_CERTS'),
      doctor('NODE_USE_ENV_PROXY'),
    ]);
    expect(untrusted).toMatch(
      /^fault {4}issuer .*: the CA of the server's certificate is not known here\. Name the file of the CA in NODE_EXTRA_CA_CERTS/m,
    );
    expect(direct).toMatch(
      /^fault {4}issuer .*issuer\.invalid.*\n.*Node\.js ignores HTTPS_PROXY: set NODE_USE_ENV_PROXY=1/m,
    );
  });
});
