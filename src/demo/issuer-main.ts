// Starts only the local issuer, for docker-compose: `node dist/demo/issuer-main.js`.
import { startIssuer } from './issuer.js';

function read(name: string, initial?: string): string {
  const value = process.env[name] || initial;
  if (value !== undefined) return value;
  console.error(
    `${name} is not set: the issuer needs ISSUER_URL (its own address), ISSUER_PORT, ISSUER_AUDIENCE (of its tokens), ISSUER_CLIENT_ID and ISSUER_CLIENT_SECRET.`,
  );
  return process.exit(1);
}

const [url, port] = [read('ISSUER_URL'), Number(read('ISSUER_PORT'))];
const issuer = await startIssuer({
  url,
  host: '0.0.0.0',
  port,
  audience: read('ISSUER_AUDIENCE'),
  scopes: read('ISSUER_SCOPES', ''),
  redirectUris: read('ISSUER_REDIRECT_URIS', '').split(',').filter(Boolean),
  machine: { id: read('ISSUER_CLIENT_ID'), secret: read('ISSUER_CLIENT_SECRET') },
});
process.stdout.write(`issuer ${url} listens on port ${port}\n`);

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => {
    issuer.close();
    process.exit(0);
  });
}
