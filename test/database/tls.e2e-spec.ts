import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { withReading } from '../../src/administration/cli/connection.js';
import { CertificateAuthority, hasOpenSsl } from '../support/certificates.js';
import { runLine } from '../support/local-program.js';
import { localWorld } from '../support/local-world.js';

let ourAuthority: CertificateAuthority;
let otherAuthority: CertificateAuthority;
const world = localWorld({ replicas: 0, hasOwnPostgres: true });

/** Writes a file in the folder of the server, with the owner and mode that PostgreSQL demands for a key. */
function writeAtServer(name: string, text: string): Promise<unknown> {
  const base64 = Buffer.from(text).toString('base64');
  return world.database.query(`copy (select '${base64}') to program 'base64 -d > ${name}'`);
}

function addressWith(parameters: Record<string, string>, hostname = '127.0.0.1'): string {
  const url = Object.assign(new URL(world.database.urlOf('order_lookup_service')), { hostname });
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}
if (!hasOpenSsl) process.stderr.write('SKIPPED: TLS to PostgreSQL needs openssl.\n');
const describeWithOpenSsl = hasOpenSsl ? describe : describe.skip;

describeWithOpenSsl('TLS to PostgreSQL', () => {
  beforeAll(async () => {
    ourAuthority = new CertificateAuthority();
    otherAuthority = new CertificateAuthority();
    const certificate = ourAuthority.issue('database', 'IP:127.0.0.1');
    await writeAtServer('server.crt', readFileSync(certificate.cert, 'utf8'));
    await writeAtServer('server.key', readFileSync(certificate.key, 'utf8'));
    for (const sql of ['alter system set ssl = on', 'select pg_reload_conf()']) await world.database.query(sql);
  });
  afterAll(() => {
    for (const authority of [ourAuthority, otherAuthority]) authority.remove();
  });

  it.each(['verify-full', 'verify-ca', 'require', 'prefer'])(
    'with sslmode=%s the certificate is verified, and another host name is accepted only with verify-ca',
    async (sslmode) => {
      const parameters = { sslmode, sslrootcert: ourAuthority.cert };
      expect(await readSsl(addressWith(parameters))).toEqual([{ ssl: true }]);
      const foreign = { sslmode, sslrootcert: otherAuthority.cert };
      await expect(readSsl(addressWith({ sslmode }))).rejects.toThrow(/certificate.* sslrootcert/);
      await expect(readSsl(addressWith(foreign))).rejects.toThrow(/certificate.* add sslrootcert=FILE/);
      const byAnotherName = readSsl(addressWith(parameters, 'localhost'));
      if (sslmode === 'verify-ca') expect(await byAnotherName).toEqual([{ ssl: true }]);
      else await expect(byAnotherName).rejects.toThrow(/altnames/);
    },
  );

  /** Returns the row of pg_stat_ssl for a session of a command. */
  async function readSsl(url: string): Promise<unknown[]> {
    const query = 'select ssl from pg_stat_ssl where pid = pg_backend_pid()';
    const { rows } = await withReading((session) => session.query(query), { DATABASE_URL: url });
    return rows;
  }

  it('is used by every session of the service', async () => {
    const service = await world.startReadyReplica({
      DATABASE_URL: addressWith({ sslmode: 'require', sslrootcert: ourAuthority.cert }),
    });
    const sessions = `from pg_stat_ssl join pg_stat_activity using (pid) where usename = 'order_lookup_service'`;
    expect(await world.database.query(`select distinct ssl ${sessions}`)).toEqual([{ ssl: true }]);
    expect(service.output).not.toContain('is not encrypted');
    await service.kill();
  });

  it('is reported as missing if the database is on another machine and sslmode is not set', async () => {
    const host = '0.0.0.0'; // this machine, but the service does not take it for loopback
    const exposed = { DATABASE_URL: addressWith({}, host) };
    const service = await world.startReplica(exposed);
    await service.kill();
    const warning = /at 0\.0\.0\.0 is not encrypted: add sslmode=verify-full/;
    const line = service.lines.find(({ msg }) => warning.test(msg));
    expect(line).toMatchObject({ level: 'warn' });
    const doctor = await runLine('doctor', { ...world.issuer.environment, ...exposed });
    expect(doctor.stdout).toMatch(warning);
  });
});
