import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { MIGRATIONS } from '../administration/migrate/migration-files.js';
import { AdministrationError } from '../administration/frame/command.js';
import { connect } from '../administration/frame/connect.js';
import { applyMigrations } from '../administration/migrate/run-migrations.js';
import { readConfiguration } from '../configuration/read-configuration.js';
import { StartError, describeStartFailure } from '../configuration/start-error.js';
import { endOn } from '../bootstrap/signals.js';
import { startService } from '../bootstrap/start-service.js';
import { demoKey, loadSamples } from './demo-data.js';
import { DemoPostgres } from './demo-postgres.js';
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
    const { PORT, BASE_PATH, OAUTH_REQUIRED_SCOPE } = readConfiguration(environment);
    await mkdir(DATA, { recursive: true }).catch((error: Error) => {
      throw new StartError(
        `The folder .data cannot be made: ${error.message}. Make the project's folder writable.`,
      );
    });
    const databaseUrl = await postgres.start();
    const open = () => connect({ DATABASE_URL: databaseUrl });
    await applyMigrations(MIGRATIONS, open).catch((error: unknown) => {
      if (!(error instanceof AdministrationError)) throw error;
      throw new StartError(
        `${error.message}\nThe data in .data may be that of another branch: go back to it, or delete the folder .data to start afresh.`,
      );
    });
    const client = await open();
    const beginsAt = await loadSamples(client);
    const key = await demoKey(client, DATA);
    await client.end();
    const origins = ['127.0.0.1', 'localhost'].map((host) => `http://${host}:${PORT}`);
    const machine = { id: 'demo-program', secret: randomBytes(12).toString('hex') };
    const { startIssuer } = await import('./issuer.js');
    const issuer = await startIssuer({
      url: issuerUrl,
      port: issuerPort,
      host: '127.0.0.1',
      audience: AUDIENCE,
      scopes: OAUTH_REQUIRED_SCOPE,
      machine,
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
    const grant = new URLSearchParams({
      grant_type: 'client_credentials',
      scope: OAUTH_REQUIRED_SCOPE,
    });
    const granted = await fetch(`${issuerUrl}/token`, {
      method: 'POST',
      headers: { Authorization: `Basic ${btoa(`${machine.id}:${machine.secret}`)}` },
      body: grant,
    });
    const { access_token: token } = (await granted.json()) as { access_token: string };
    const variables = Object.entries({
      KEY: key,
      TOKEN: token,
      CLIENT_ID: machine.id,
      CLIENT_SECRET: machine.secret,
      DATABASE_URL: databaseUrl,
    })
      .map(([name, value]) => `export ${name}='${value}'\n`)
      .join('');
    await writeFile(join(DATA, VARIABLES), variables, { mode: 0o600 });
    const url = service.url + BASE_PATH;
    const tokenRequest = `curl -s -u ${machine.id}:${machine.secret} \\\n  -d '${grant.toString()}' ${issuerUrl}/token`;
    process.stdout.write(
      welcome({ ...service, url, issuerUrl, key, databaseUrl, tokenRequest, variables, beginsAt }),
    );
  } catch (error) {
    process.stderr.write(`${describeStartFailure(error)}\n`);
    await postgres.stop();
    process.exit(1);
  }
}
