// `npm start`: without configuration it starts the demo with its own database and issuer; otherwise the service as in production, which
// reports missing variables.
import 'reflect-metadata';

const names = 'DATABASE_URL DATABASE_URL_FILE OAUTH_ISSUER OAUTH_AUDIENCE OAUTH_CLIENTS'.split(' ');
const set = names.filter((name) => process.env[name]);
const inProduction = process.env['NODE_ENV'] === 'production';

if (set.length === 0 && !inProduction) await (await import('./demo.js')).startDemo();
else {
  if (!inProduction)
    process.stderr.write(
      `${set.join(', ')} ${set.length > 1 ? 'are' : 'is'} set, so this is the service and not the demo. For the demo: unset ${set.join(' ')}\n`,
    );
  await import('../main.js');
}
