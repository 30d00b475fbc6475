// Starts only the issuer of the demo. docker-compose.yml runs this file, in the stage `issuer` of the Dockerfile.
import { createServer } from 'node:http';
import { makeSigningKey, serveIssuer } from './issuer.js';

function read(name: string): string {
  const value = process.env[name];
  if (value) return value;
  console.error(`${name} of the demo's issuer is not set: see docker-compose.yml.`);
  return process.exit(1);
}

const port = Number(read('ISSUER_PORT'));
const server = createServer();
await serveIssuer(server, {
  url: read('ISSUER_URL'),
  audience: read('ISSUER_AUDIENCE'),
  scopes: process.env['ISSUER_SCOPES'] ?? '',
  redirectUris: (process.env['ISSUER_REDIRECT_URIS'] ?? '').split(',').filter(Boolean),
  signingKey: await makeSigningKey(),
  machine: { id: read('ISSUER_CLIENT_ID'), secret: read('ISSUER_CLIENT_SECRET') },
});
server.listen(port, '0.0.0.0', () => process.stdout.write(`the issuer listens on port ${port}\n`));
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => process.exit(0));
