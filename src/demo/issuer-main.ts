// Starts only the local issuer, for docker-compose: `node dist/demo/issuer-main.js`.
import { startIssuer } from './issuer.js';

const needed = ['ISSUER_URL', 'ISSUER_PORT', 'ISSUER_AUDIENCE'] as const;
const missing = needed.filter((name) => !process.env[name]);
if (missing.length > 0) {
  process.stderr.write(
    `${missing.join(', ')} not set: the issuer's own address, its port and the audience of its tokens are needed.\n`,
  );
  process.exit(1);
}

const {
  ISSUER_URL = '',
  ISSUER_PORT,
  ISSUER_AUDIENCE = '',
  ISSUER_SCOPES = '',
  ISSUER_REDIRECT_URIS = '',
  ISSUER_CLIENT_ID: id,
  ISSUER_CLIENT_SECRET: secret,
} = process.env;
const issuer = await startIssuer({
  url: ISSUER_URL,
  host: '0.0.0.0',
  port: Number(ISSUER_PORT),
  audience: ISSUER_AUDIENCE,
  scopes: ISSUER_SCOPES,
  redirectUris: ISSUER_REDIRECT_URIS.split(',').filter(Boolean),
  ...(id && secret ? { machine: { id, secret } } : {}),
});
process.stdout.write(`issuer ${ISSUER_URL} listens on port ${ISSUER_PORT}\n`);

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => {
    issuer.close();
    process.exit(0);
  });
}
