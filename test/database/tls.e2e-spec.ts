import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connect } from '../../src/administration/frame/connect.js';
import { CertificateAuthority, hasOpenSsl } from '../support/certificates.js';
import { run } from '../support/program.js';
import { RunningService } from '../support/service.js';
import { World } from '../support/world.js';

let ours: CertificateAuthority;
let other: CertificateAuthority;
let stage: World;

/** Writes a file in the folder of the server, with the owner and the rights that it demands of a key. */
const writeAtServer = (name: string, text: string): Promise<unknown> =>
  stage.database.query(
    `copy (select '${Buffer.from(text).toString('base64')}') to program 'base64 -d > ${name}'`,
  );

interface Address {
  host?: string;
  role?: 'order_lookup_owner' | 'order_lookup_service';
  parameters?: Record<string, string>;
}
function address({ host = '127.0.0.1', role = 'order_lookup_service', parameters = {} }: Address) {
  const url = Object.assign(new URL(stage.database.urlOf(role)), { hostname: host });
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}
const verified = (parameters: Record<string, string> = {}): Record<string, string> => ({
  sslmode: 'verify-full',
  sslrootcert: ours.cert,
  ...parameters,
});
const start = (environment: Record<string, string>): Promise<RunningService> =>
  RunningService.start({ ...stage.issuer.environment, ...environment });
const doctor = async (environment: Record<string, string>): Promise<string> =>
  (await run('doctor.js', [], { ...stage.issuer.environment, ...environment })).stdout;

(hasOpenSsl ? describe : describe.skip)('TLS to PostgreSQL', () => {
  beforeAll(async () => {
    [ours, other] = [new CertificateAuthority(), new CertificateAuthority()];
    const certificate = ours.issue('database', 'IP:127.0.0.1');
    stage = await World.apart(0);
    await writeAtServer('server.crt', readFileSync(certificate.cert, 'utf8'));
    await writeAtServer('server.key', readFileSync(certificate.key, 'utf8'));
    await writeAtServer('root.crt', readFileSync(ours.cert, 'utf8'));
    await writeAtServer(
      'pg_hba.conf',
      'hostssl all order_lookup_owner 127.0.0.1/32 cert\nhost all all 127.0.0.1/32 scram-sha-256\n',
    );
    for (const sql of [`set ssl_ca_file = 'root.crt'`, 'set ssl = on'])
      await stage.database.query(`alter system ${sql}`);
    await stage.database.query('select pg_reload_conf()');
  });
  afterAll(async () => {
    await stage.close();
    for (const authority of [ours, other]) authority.remove();
  });

  it.each(['verify-full', 'verify-ca', 'require', 'prefer'])(
    'verifies certificate and name with sslmode=%s',
    async (sslmode) => {
      const parameters = verified({ sslmode });
      const session = await connect({ DATABASE_URL: address({ parameters }) });
      const { rows } = await session.query(
        'select ssl from pg_stat_ssl where pid = pg_backend_pid()',
      );
      await session.end();
      expect(rows).toEqual([{ ssl: true }]);
      for (const where of [
        { parameters: { ...parameters, sslrootcert: other.cert } },
        { host: 'localhost', parameters },
      ])
        await expect(connect({ DATABASE_URL: address(where) })).rejects.toThrow(/certificate/);
    },
  );

  it.each<[string, () => Address, RegExp]>([
    [
      'an unknown CA',
      () => ({ parameters: { sslmode: 'verify-full' } }),
      /cannot be used: .*: the CA of the server's certificate is not known here\. Name the file of the CA in NODE_EXTRA_CA_CERTS, for PostgreSQL in sslrootcert/,
    ],
    [
      'another name',
      () => ({ host: 'localhost', parameters: verified() }),
      /cannot be used: Hostname\/IP does not match certificate's altnames: Host: localhost\. is not/,
    ],
    [
      'a missing file',
      () => ({ parameters: verified({ sslrootcert: '/nowhere/ca.pem' }) }),
      /DATABASE_URL names the file \/nowhere\/ca\.pem, which cannot be read \(ENOENT\)/,
    ],
    [
      'a file that is no certificate',
      () => {
        const sslrootcert = ours.file('garbage.pem');
        writeFileSync(sslrootcert, '-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n');
        return { parameters: verified({ sslrootcert }) };
      },
      /cannot be used: /,
    ],
    [
      'no certificate of the client',
      () => ({ role: 'order_lookup_owner', parameters: verified() }),
      /cannot be used: connection requires a valid client certificate/,
    ],
    [
      'nothing, with a certificate of the client instead of a password',
      () => {
        const { cert, key } = ours.issue('order_lookup_owner');
        return {
          role: 'order_lookup_owner',
          parameters: verified({ sslcert: cert, sslkey: key }),
        };
      },
      /^$/,
    ],
  ])('says in one sentence what is wrong: %s', async (_name, where, said) => {
    const { stderr } = await run('migrate.js', ['status'], { DATABASE_URL: address(where()) });
    expect(stderr).toMatch(said);
    expect(stderr).not.toMatch(/.\n.|tests-only/);
  });

  it('is used by every session of the service, which logs a fault of it and tries again', async () => {
    const [ca, file] = [ours.file('rotated.pem'), ours.file('database-url')];
    writeFileSync(ca, readFileSync(ours.cert));
    writeFileSync(file, address({ parameters: verified({ sslrootcert: ca }) }));
    const service = await start({ DATABASE_URL_FILE: file });
    const says = (fault: RegExp) => service.waitForLog(({ reason }) => fault.test(String(reason)));
    try {
      await service.ready();
      const sessions = `from pg_stat_ssl join pg_stat_activity using (pid) where usename = 'order_lookup_service'`;
      expect(await stage.database.query(`select distinct ssl ${sessions}`)).toEqual([
        { ssl: true },
      ]);
      expect(service.output).not.toContain('is not encrypted');
      rmSync(ca);
      await stage.database.query(`select pg_terminate_backend(pid) ${sessions}`);
      await says(/names the file .*rotated\.pem, which cannot be read \(ENOENT\)/);
      writeFileSync(ca, readFileSync(other.cert));
      await says(/the CA of the server's certificate is not known here/);
      writeFileSync(ca, readFileSync(ours.cert));
      await service.waitForLog(({ msg }) => msg === 'database (keys): works again');
    } finally {
      await service.kill();
    }
  });

  it('is reported as missing, at the start and by the doctor, if the database is on another machine and sslmode is not set', async () => {
    const host = '0.0.0.0'; // leads to this machine, and does not look like it
    const warnings = async (parameters: Record<string, string>): Promise<string[]> => {
      const service = await start({ DATABASE_URL: address({ host, parameters }) });
      await service.kill();
      const lines = service.lines.filter(({ msg }) => /is not encrypted/.test(msg));
      return lines.map(({ level, msg }) => `${level}: ${msg}`);
    };
    expect(await doctor({ DATABASE_URL: address({ host }) })).toMatch(
      /^warning {2}database .*\n.*at 0\.0\.0\.0 is not encrypted: add sslmode=verify-full/m,
    );
    expect(await warnings({})).toEqual([
      expect.stringMatching(/^warn: .* at 0\.0\.0\.0 is not encrypted: add sslmode=verify-full/),
    ]);
    expect(await warnings({ sslmode: 'disable' })).toEqual([]);
  });
});
