// The operations as the manuals of Fastify, pg and jose would write them: each request asks PostgreSQL for its key and
// its records. `npm run bench` installs Fastify into .data/bench, because only this comparison needs it.
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import process from 'node:process';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { Pool } from 'pg';

const Fastify = createRequire(resolve('.data/bench/package.json'))('fastify');

const { DATABASE_URL, OAUTH_ISSUER, OAUTH_AUDIENCE } = process.env;
const pool = new Pool({ connectionString: DATABASE_URL });
const keySet = createRemoteJWKSet(new URL(`${OAUTH_ISSUER}/jwks`));
const app = Fastify();

const SELECT_KEY = `
  select id from api_key
  where key_hash = $1 and revoked_at is null and (expires_at is null or expires_at > now())`;
const SELECT_VALUES = `
  select property, array_agg(value order by v.position) as values
  from area_property p join code_list_value v using (code_list)
  where area = $1
  group by property, p.position
  order by p.position`;
const SELECT_CODES = `
  select code_type as "codeType", code, description from communication_code
  where ($1::text is null or code_type = $1) and ($2::text is null or code = $2)
  order by code_type, code`;

async function checkCredentials(request, reply) {
  const hash = createHash('sha256')
    .update(request.headers['api-key'] ?? '')
    .digest();
  const { rowCount } = await pool.query(SELECT_KEY, [hash]);
  if (rowCount === 0) {
    await reply.code(401).send({ title: 'The API key is not valid.' });
    return;
  }
  const token = request.headers.authorization?.replace(/^Bearer /, '') ?? '';
  try {
    await jwtVerify(token, keySet, { issuer: OAUTH_ISSUER, audience: OAUTH_AUDIENCE });
  } catch {
    await reply.code(401).send({ title: 'The access token is not valid.' });
  }
}

app.get('/orders-update-api/supported-values', { onRequest: checkCredentials }, async () => {
  const { rows } = await pool.query(SELECT_VALUES, ['order-update']);
  return Object.fromEntries(rows.map(({ property, values }) => [property, values]));
});

const querystring = {
  type: 'object',
  properties: { codeType: { type: 'string' }, code: { type: 'string' } },
};
app.get(
  '/order-scheduling/communication-codes',
  { onRequest: checkCredentials, schema: { querystring } },
  async ({ query }) => {
    const { rows } = await pool.query(SELECT_CODES, [query.codeType, query.code]);
    return { communicationRecords: rows };
  },
);

const url = await app.listen({ port: 0, host: '127.0.0.1' });
console.log(JSON.stringify({ msg: 'listening', url }));
