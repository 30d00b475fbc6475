// Fastify with pg and jose, as their documentation has it: a preHandler for the credentials, queries on each request.
import { createHash } from 'node:crypto';
import Fastify from 'fastify';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { Pool } from 'pg';

const { DATABASE_URL, OAUTH_ISSUER = '', OAUTH_AUDIENCE, PORT } = process.env;
const pool = new Pool({ connectionString: DATABASE_URL, max: 10 });
const jwks = createRemoteJWKSet(new URL(`${OAUTH_ISSUER}/jwks`));
const app = Fastify();

app.addHook('preHandler', async (request, reply) => {
  const { rowCount } = await pool.query(
    `select from api_key where key_hash = $1 and revoked_at is null and (expires_at is null or expires_at > now())`,
    [createHash('sha256').update(String(request.headers['api-key'])).digest()],
  );
  try {
    await jwtVerify(String(request.headers.authorization).replace(/^Bearer /i, ''), jwks, {
      issuer: OAUTH_ISSUER,
      audience: OAUTH_AUDIENCE,
    });
  } catch {
    return reply.code(401).send();
  }
  return rowCount ? undefined : reply.code(401).send();
});

app.get('/orders-update-api/supported-values', async () => {
  const { rows } = await pool.query<{ property: string; values: string[] }>(
    `select property, array(select value from code_list_value v where v.code_list = p.code_list order by position) as values
     from area_property p where area = 'order-update' order by position`,
  );
  return Object.fromEntries(rows.map(({ property, values }) => [property, values]));
});

await app.listen({ port: Number(PORT), host: '127.0.0.1' });
