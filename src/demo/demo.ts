import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { MIGRATIONS } from '../administration/migrate/read-migrations.js';
import { AdministrationError } from '../administration/frame/command.js';
import { connect } from '../administration/frame/connect.js';
import { applyMigrations } from '../administration/migrate/run-migrations.js';
import { readConfiguration } from '../configuration/read-configuration.js';
import { StartError, describeStartFailure } from '../configuration/start-error.js';
import { endOn } from '../bootstrap/signals.js';
import { startService } from '../bootstrap/start-service.js';
import { demoKey } from './demo-key.js';
import { DemoPostgres } from './demo-postgres.js';
import { BEGINS_SOON, SAMPLES } from './samples.js';
import { VARIABLES, welcome } from './welcome.js';

const DATA = join(import.meta.dirname, '..', '..', '.data');
const AUDIENCE = 'https://orders.demo.example';

/** Starts database, issuer and service on the loopback address, and prints commands to paste. */
export async function startDemo(): Promise<void> {
  const postgres = new DemoPostgres(DATA);
  try {
    const issuerPort = Number(process.env['ISSUER_PORT'] || 3002);
    const issuerUrl = `http://127.0.0.1:${issuerPort}`;
    // Checked before anything is started. DATABASE_URL is not known yet; this value only has the right form
    const environment = {
      HOST: '127.0.0.1',
      ...process.env,
      LOG_LEVEL: process.env['LOG_LEVEL'] || 'warn',
      DATABASE_URL: 'postgres://127.0.0.1',
      OAUTH_ISSUER: issuerUrl,
      OAUTH_AUDIENCE: AUDIENCE,
    };
    const { HOST, PORT, MANAGEMENT_PORT, BASE_PATH, OAUTH_REQUIRED_SCOPE } =
      readConfiguration(environment);
    await mkdir(DATA, { recursive: true }).catch((error: Error) => {
      throw new StartError(
        `The folder .data cannot be made: ${error.message}. Make the project's folder writable.`,
      );
    });
    postgres.assertAlone();
    await assertFree(HOST, PORT, 'PORT');
    await assertFree(HOST, MANAGEMENT_PORT, 'MANAGEMENT_PORT');
    await assertFree('127.0.0.1', issuerPort, 'ISSUER_PORT');
    const databaseUrl = await postgres.start();
    const open = () => connect({ DATABASE_URL: databaseUrl });
    await applyMigrations(MIGRATIONS, open).catch((error: unknown) => {
      if (!(error instanceof AdministrationError)) throw error;
      throw new StartError(
        `${error.message}\nThe data in .data may be that of another branch: go back to it, or delete the folder .data to start afresh.`,
      );
    });
    const client = await open();
    await client.query(SAMPLES);
    const { rows: soon } = await client.query<{ valid_from: Date }>(BEGINS_SOON);
    const key = await demoKey(client, DATA);
    await client.end();
    const origins = ['127.0.0.1', 'localhost'].map((host) => `http://${host}:${PORT}`);
    const { startIssuer } = await import('./issuer.js');
    const issuer = await startIssuer({
      url: issuerUrl,
      port: issuerPort,
      host: '127.0.0.1',
      audience: AUDIENCE,
      scopes: OAUTH_REQUIRED_SCOPE,
      redirectUris: origins.map((origin) => `${origin}${BASE_PATH}/docs/oauth2-redirect.html`),
      keyFile: join(DATA, 'issuer-key.pem'),
    });
    const service = await startService(
      readConfiguration({ ...environment, DATABASE_URL: databaseUrl }),
    );
    endOn(
      {
        async stop() {
          await service.stop();
          issuer.close();
          await postgres.stop();
        },
      },
      service.log,
    );
    while ((await fetch(`${service.managementUrl}/health/ready`)).status !== 200) await pause(20);
    const token = await issuer.accessToken();
    const variables = Object.entries({ KEY: key, TOKEN: token, DATABASE_URL: databaseUrl })
      .map(([name, value]) => `export ${name}='${value}'\n`)
      .join('');
    await writeFile(join(DATA, VARIABLES), variables, { mode: 0o600 });
    process.stdout.write(
      welcome({
        url: service.url + BASE_PATH,
        managementUrl: service.managementUrl,
        issuerUrl,
        key,
        databaseUrl,
        variables,
        beginsAt: soon[0]?.valid_from as Date,
      }),
    );
  } catch (error) {
    process.stderr.write(`${describeStartFailure(error)}\n`);
    await postgres.stop();
    process.exit(1);
  }
}

async function assertFree(host: string, port: number, variable: string): Promise<void> {
  if (port === 0) return;
  const probe = createServer().listen(port, host);
  await once(probe, 'listening').catch(() => {
    throw new StartError(
      `Port ${port} on ${host} is taken by another program: set ${variable} to another port, such as ${variable}=4${String(port).slice(1)} npm start.`,
    );
  });
  probe.close();
}
