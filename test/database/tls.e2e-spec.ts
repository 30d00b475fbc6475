import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from '../../src/administration/frame/connect.js';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Certificate, CertificateAuthority, hasOpenSsl } from '../support/certificates.js';
import { type TestDatabase, createDatabase } from '../support/database.js';
import { Issuer } from '../support/issuer.js';
import { issueKey } from '../support/keys.js';
import { startMigratedPostgres } from '../support/migrated-postgres.js';
import type { PostgresServer } from '../support/postgres-server.js';
import { run } from '../support/program.js';
import { RunningService } from '../support/service.js';

let ours: CertificateAuthority;
let other: CertificateAuthority;
let server: PostgresServer;
let database: TestDatabase;
let issuer: Issuer;
let client: Certificate;

/** Writes a file in the folder of the server, with the owner and the rights that it demands of a key. */
const writeAtServer = (name: string, text: string): Promise<unknown> =>
  database.query(
    `copy (select '${Buffer.from(text).toString('base64')}') to program 'base64 -d > ${name}'`,
  );

const suite = hasOpenSsl ? describe : describe.skip;

beforeAll(async () => {
  if (!hasOpenSsl) return;
  [ours, other] = [new CertificateAuthority(), new CertificateAuthority()];
  const certificate = ours.issue('database', 'IP:127.0.0.1');
  client = ours.issue('order_lookup_owner');
  [server, issuer] = await Promise.all([startMigratedPostgres(), Issuer.start()]);
  database = await createDatabase({ server: server.url });
  await issueKey(database);
  await writeAtServer('server.crt', readFileSync(certificate.cert, 'utf8'));
  await writeAtServer('server.key', readFileSync(certificate.key, 'utf8'));
  await writeAtServer('root.crt', readFileSync(ours.cert, 'utf8'));
  await writeAtServer(
    'pg_hba.conf',
    'hostssl all order_lookup_owner 127.0.0.1/32 cert\nhost all all 127.0.0.1/32 scram-sha-256\n',
  );
  await database.query(`alter system set ssl_ca_file = 'root.crt'`);
  await database.query('alter system set ssl = on');
  await database.query('select pg_reload_conf()');
});
afterAll(async () => {
  if (!hasOpenSsl) return;
  await Promise.all([issuer.close(), database.close()]);
  await server.remove();
  for (const authority of [ours, other]) authority.remove();
});

interface Address {
  host?: string;
  role?: string;
  parameters?: Record<string, string>;
}

function address({ host = '127.0.0.1', role = 'order_lookup_service', parameters = {} }: Address) {
  const url = new URL(database.urlOf('order_lookup_service'));
  Object.assign(url, { hostname: host, username: role });
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}

const verified = (parameters: Record<string, string> = {}): Record<string, string> => ({
  sslmode: 'verify-full',
  sslrootcert: ours.cert,
  ...parameters,
});

const doctor = async (environment: Record<string, string>): Promise<string> =>
  (await run('doctor.js', [], { ...issuer.environment, ...environment })).stdout;

/** What a command says on standard error. */
const faultOf = async (where: Address): Promise<string> =>
  (await run('migrate.js', ['status'], { DATABASE_URL: address(where) })).stderr;

suite('TLS to PostgreSQL', () => {
  it.each(['verify-full', 'verify-ca', 'require', 'prefer'])(
    'verifies certificate and name with sslmode=%s',
    async (sslmode) => {
      const session = await connect({
        DATABASE_URL: address({ parameters: verified({ sslmode }) }),
      });
      const { rows } = await session.query(
        'select ssl from pg_stat_ssl where pid = pg_backend_pid()',
      );
      await session.end();
      expect(rows).toEqual([{ ssl: true }]);
      for (const where of [
        { parameters: verified({ sslmode, sslrootcert: other.cert }) },
        { host: 'localhost', parameters: verified({ sslmode }) },
      ])
        await expect(connect({ DATABASE_URL: address(where) })).rejects.toThrow(/certificate/);
    },
  );

  it.each<[string, () => Address, RegExp]>([
    [
      'a CA that it does not know',
      () => ({ parameters: { sslmode: 'verify-full' } }),
      /cannot be used: .*: the CA of the server's certificate is not known here\. Name the file of the CA in NODE_EXTRA_CA_CERTS, for PostgreSQL in sslrootcert/,
    ],
    [
      'another CA',
      () => ({ parameters: verified({ sslrootcert: other.cert }) }),
      /cannot be used: .*: the CA of the server's certificate is not known here/,
    ],
    [
      'another name',
      () => ({ host: 'localhost', parameters: verified() }),
      /cannot be used: Hostname\/IP does not match certificate's altnames: Host: localhost\. is not/,
    ],
    [
      'a file that is missing',
      () => ({ parameters: verified({ sslrootcert: '/nowhere/ca.pem' }) }),
      /DATABASE_URL names the file \/nowhere\/ca\.pem, which cannot be read \(ENOENT\)/,
    ],
    [
      'a file that is no certificate',
      () => {
        const file = ours.file('garbage.pem');
        writeFileSync(file, '-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----\n');
        return { parameters: verified({ sslrootcert: file }) };
      },
      /cannot be used: /,
    ],
    [
      'a role that has to show a certificate',
      () => ({ role: 'order_lookup_owner', parameters: verified() }),
      /cannot be used: connection requires a valid client certificate/,
    ],
  ])('says in one sentence what is wrong: %s', async (_name, where, said) => {
    const fault = await faultOf(where());
    expect(fault).toMatch(said);
    expect(fault).not.toMatch(/.\n.|tests-only/);
  });

  it('takes a certificate of the client instead of a password', async () => {
    const parameters = verified({ sslcert: client.cert, sslkey: client.key });
    expect(await faultOf({ role: 'order_lookup_owner', parameters })).toBe('');
  });

  it('is used by every session of the service, which logs a fault of it and tries again', async () => {
    const folder = ours.file('rotated.pem');
    const file = ours.file('database-url');
    writeFileSync(folder, readFileSync(ours.cert));
    writeFileSync(file, address({ parameters: verified({ sslrootcert: folder }) }));
    const service = await RunningService.start({
      DATABASE_URL_FILE: file,
      ...issuer.environment,
    });
    try {
      await service.ready();
      expect(
        await database.query(
          `select distinct ssl, usename from pg_stat_ssl join pg_stat_activity using (pid) where usename = 'order_lookup_service'`,
        ),
      ).toEqual([{ ssl: true, usename: 'order_lookup_service' }]);
      expect(service.output).not.toContain('is not encrypted');
      rmSync(folder);
      await database.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where usename = 'order_lookup_service'`,
      );
      await service.waitForLog(({ reason }) =>
        /names the file .*rotated\.pem, which cannot be read \(ENOENT\)/.test(String(reason)),
      );
      writeFileSync(folder, readFileSync(other.cert));
      await service.waitForLog(({ reason }) =>
        /the CA of the server's certificate is not known here/.test(String(reason)),
      );
      writeFileSync(folder, readFileSync(ours.cert));
      await service.waitForLog(({ msg }) => msg === 'database (keys): works again');
      expect((await fetch(`${service.managementUrl}/health/ready`)).status).toBe(200);
    } finally {
      await service.kill();
    }
  });

  it('is reported as missing, at the start and by the doctor, if the database is on another machine and sslmode is not set', async () => {
    // 0.0.0.0 leads to this machine, and does not look like it
    const host = '0.0.0.0';
    const warnings = async (parameters: Record<string, string>): Promise<string[]> => {
      const service = await RunningService.start({
        DATABASE_URL: address({ host, parameters }),
        ...issuer.environment,
      });
      const lines = service.lines.filter(({ msg }) => /is not encrypted/.test(msg));
      await service.kill();
      return lines.map(({ level, msg }) => `${level}: ${msg}`);
    };
    const [told, said, meant] = await Promise.all([
      doctor({ DATABASE_URL: address({ host }) }),
      warnings({}),
      warnings({ sslmode: 'disable' }),
    ]);
    expect(told).toMatch(
      /^warning {2}database .*\n.*at 0\.0\.0\.0 is not encrypted: add sslmode=verify-full/m,
    );
    expect(said).toEqual([
      expect.stringMatching(/^warn: .* at 0\.0\.0\.0 is not encrypted: add sslmode=verify-full/),
    ]);
    expect(meant).toEqual([]);
  });

  it('is examined by the doctor, who looks for the password of the database in the environment as well', async () => {
    const [url, file] = [address({ parameters: verified() }), ours.file('database-url')];
    writeFileSync(file, url);
    const [bad, good] = await Promise.all([
      doctor({ NODE_ENV: 'production', DATABASE_URL: url }),
      doctor({ NODE_ENV: 'production', DATABASE_URL_FILE: file }),
    ]);
    expect(bad).toMatch(/^warning {2}database .*\n.*DATABASE_URL_FILE/m);
    expect(good).not.toMatch(/^(warning|fault)/m);
    expect(bad + good).not.toContain('tests-only');
  });
});
