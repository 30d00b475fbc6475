// Gateways in front of the replicas. This file replaces texts in their configurations. If you change such a text in its
// file, change it here, too: a text that is not found stays as it is.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Certificate } from './certificates.js';
import { readBlocks } from './pages.js';
import { findFreePort } from './ports.js';
import { endOf, readText, startProgram } from './program.js';
import { until } from './until.js';

const PROGRAMS = {
  haproxy: ['/usr/sbin/haproxy', '-db', '-f'],
  caddy: ['/usr/bin/caddy', 'run', '--adapter', 'caddyfile', '--config'],
} as const;
type BalancerName = keyof typeof PROGRAMS;
export const BALANCERS = Object.keys(PROGRAMS) as BalancerName[];

export const isInstalled = (name: BalancerName): boolean => existsSync(PROGRAMS[name][0]);

const NGINX = '/usr/sbin/nginx';
export const hasNginx = existsSync(NGINX);

export interface Front {
  readonly url: string;
  /** The folder with the configuration and the logs. It is removed when the gateway is stopped. */
  readonly folder: string;
  stop(): Promise<void>;
}

/** Makes the time limits of a configuration longer: on a slow machine a replica would reach them, and seem dead. */
export const withLongTimeouts = (configuration: string): string =>
  configuration
    // nginx and Caddy, for example `proxy_read_timeout 3s`
    .replaceAll(/((?:proxy_\w+|client_body)_timeout|dial_timeout|lb_try_duration) \w+/g, '$1 600s')
    // HAProxy, for example `timeout connect 300ms`
    .replace(/timeout connect \w+/, 'timeout connect 600s\n  timeout check 600s')
    .replace('timeout server 10s', 'timeout server 600s')
    // Caddy
    .replace('health_interval 1s', 'health_interval 1s\n  health_timeout 600s');

/**
 * Starts HAProxy or Caddy with its block of docs/balancers.md, in which 10.0.0.1 becomes 127.0.0.1, and so on.
 * @param change changes the block before its addresses are replaced
 */
export async function startBalancer(
  name: BalancerName,
  { PORT, MANAGEMENT_PORT }: Record<'PORT' | 'MANAGEMENT_PORT', string>,
  change = (text: string): string => text,
): Promise<Front> {
  const folder = mkdtempSync(join(tmpdir(), `${name}-`));
  const port = await findFreePort();
  const block = readBlocks('docs/balancers.md').find(({ language }) => language === name);
  const text = change(block?.text ?? '')
    .replaceAll(/10\.0\.0\.(\d):3000/g, `127.0.0.$1:${PORT}`)
    .replaceAll(' 3001', ` ${MANAGEMENT_PORT}`)
    .replace(':8080', `${name === 'caddy' ? 'http://' : ''}127.0.0.1:${port}`);
  const file = join(folder, 'configuration');
  writeFileSync(file, name === 'caddy' ? `{\n  admin off\n}\n${text}` : text);
  return serve([...PROGRAMS[name], file], folder, port);
}

/** The kinds of temporary files of nginx. An ordinary user may not write into nginx's usual folders for these files. */
const TEMPORARY_FILES = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

/**
 * Starts nginx with deploy/nginx/nginx.conf.
 * @param replicas the host and the port of each replica
 * @param change changes the configuration
 * @param certificate the certificate for TLS. Without it nginx speaks plain HTTP
 */
export async function startNginx(
  replicas: readonly string[],
  change = (text: string): string => text,
  certificate?: Certificate,
): Promise<Front> {
  const folder = mkdtempSync(join(tmpdir(), 'nginx-'));
  const port = await findFreePort();
  // These lines replace those of nginx.conf. With max_fails=0 nginx never takes a replica out of use
  const servers = replicas.map((one) => `    server ${one} max_fails=0;\n`).join('');
  const text = change(readText('deploy/nginx/nginx.conf'))
    .replace(/^user .*$/m, '')
    .replace('/run/nginx.pid', `${folder}/nginx.pid`)
    .replace(
      /^http \{$/m,
      (line) => `${line}\n${TEMPORARY_FILES.map((name) => `  ${name}_temp_path ${folder}/${name};\n`).join('')}`,
    )
    .replace(/(^ *server 10\..*\n)+/m, servers)
    .replace('listen 443 ssl', `listen 127.0.0.1:${port}${certificate ? ' ssl' : ''}`)
    .replace('/etc/nginx/tls/certificate.pem', certificate?.cert ?? '')
    .replace('/etc/nginx/tls/key.pem', certificate?.key ?? '')
    .replaceAll(/^ *ssl_certificate(_key)? ;$/gm, '') // without a certificate, these lines now lack their path
    .replace('/var/log/nginx', folder);
  const file = join(folder, 'nginx.conf');
  writeFileSync(file, text);
  return serve([NGINX, '-p', folder, '-c', file, '-g', 'daemon off;'], folder, port);
}

/** Adds an address to the known callers, whom nginx does not limit. */
export const withUnlimitedCaller = (configuration: string, address: string): string =>
  configuration.replace('# 203.0.113.0/24 1;', `${address} 1;`);

/** Starts a program that listens on the port, and waits until it or a replica answers. */
async function serve(command: string[], folder: string, port: number): Promise<Front> {
  const gateway = startProgram(command, folder, { HOME: folder });
  const { child, output } = gateway;
  const url = `http://127.0.0.1:${port}`;
  await until(async () => {
    const hasEnded = child.exitCode !== null;
    // nginx answers this path with a 404 of its own, and a balancer with the 404 of a replica
    return hasEnded || (await fetch(`${url}/.problem`)).status < 500;
  });
  if (child.exitCode !== null) throw new Error(`${command[0]}: ${output.stderr}`);
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await endOf(gateway);
    rmSync(folder, { recursive: true, force: true });
  };
  return { url, folder, stop };
}
