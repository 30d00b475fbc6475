// `npm start`: without configuration it starts the demo with its own database and issuer; otherwise the service as in production, which
// reports missing variables.
import 'reflect-metadata';

const configured = ['DATABASE_URL', 'DATABASE_URL_FILE', 'OAUTH_ISSUER', 'OAUTH_AUDIENCE'].some(
  (name) => process.env[name],
);

if (configured || process.env['NODE_ENV'] === 'production') await import('../main.js');
else await (await import('./demo.js')).startDemo();
