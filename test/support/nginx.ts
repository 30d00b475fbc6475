import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Front, serve } from './balancers.js';
import type { Certificate } from './certificates.js';
import { freePort } from './postgres-server.js';
import { textOf } from './program.js';

const PROGRAM = '/usr/sbin/nginx';
export const hasNginx = existsSync(PROGRAM);

/**
 * nginx with deploy/nginx/nginx.conf on a port of the loopback address, as an ordinary user.
 * @param replicas with host and port
 * @param change of the configuration
 * @param certificate without it, plain HTTP is spoken
 */
export async function startNginx(
  replicas: readonly string[],
  change = (text: string): string => text,
  certificate?: Certificate,
): Promise<Front> {
  const folder = mkdtempSync(join(tmpdir(), 'nginx-'));
  const port = await freePort();
  const servers = replicas.map((one) => `    server ${one} max_fails=0;\n`).join('');
  const text = change(textOf('deploy/nginx/nginx.conf'))
    .replace(/^user .*$/m, '')
    .replace('/run/nginx.pid', `${folder}/nginx.pid`)
    .replace(
      /^http \{$/m,
      (line) => `${line}\n${TEMPORARY.map((name) => `  ${name}_temp_path ${folder}/${name};\n`).join('')}`,
    )
    .replace(/(^ *server 10\..*\n)+/m, servers)
    .replace('listen 443 ssl', `listen 127.0.0.1:${port}${certificate ? ' ssl' : ''}`)
    .replace('/etc/nginx/tls/certificate.pem', certificate?.cert ?? '')
    .replace('/etc/nginx/tls/key.pem', certificate?.key ?? '')
    .replaceAll(/^ *ssl_certificate(_key)? ;$/gm, '')
    .replace('/var/log/nginx', folder);
  const file = join(folder, 'nginx.conf');
  writeFileSync(file, text);
  return serve([PROGRAM, '-p', folder, '-c', file, '-g', 'daemon off;'], folder, port);
}

/** What nginx would keep in folders that an ordinary user may not write to. */
const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

/** Makes an address one of the callers, who are not limited. */
export const withCaller = (configuration: string, address: string): string =>
  configuration.replace('# 203.0.113.0/24 1;', `${address} 1;`);
