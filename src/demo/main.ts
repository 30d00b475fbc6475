// `npm start`: without configuration it starts the demo with its own database and issuer; otherwise the service as in
// production, which reports missing variables.
import 'reflect-metadata';
import { Ending } from './ending.js';

const OF_THE_SERVICE = ['DATABASE_URL', 'DATABASE_URL_FILE', 'OAUTH_ISSUER', 'OAUTH_AUDIENCE', 'OAUTH_CLIENTS'];

const set = OF_THE_SERVICE.filter((name) => process.env[name]);
const isInProduction = process.env['NODE_ENV'] === 'production';

if (set.length === 0 && !isInProduction) await runDemo();
else await runService();

async function runDemo(): Promise<void> {
  const ending = new Ending();
  ending.listen();
  try {
    const { startDemo } = await import('./demo.js');
    await startDemo(ending);
  } catch (error) {
    await ending.fail(error);
  }
}

async function runService(): Promise<void> {
  const variables = isInProduction ? [...set, 'NODE_ENV'] : set;
  const verb = variables.length > 1 ? 'are' : 'is';
  process.stderr.write(
    `${variables.join(', ')} ${verb} set, so this is the service and not the demo. ` +
      `For the demo: unset ${variables.join(' ')}\n`,
  );
  await import('../main.js');
}
