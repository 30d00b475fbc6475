// What stands before the replicas, run by an ordinary user on a port of the loopback address: nginx with the file of
// deploy/nginx, HAProxy and Caddy with the blocks of docs/balancers.md. Each file is adapted by replacing texts in it,
// and a text that it no longer holds is not replaced: who changes one of the files changes the texts here.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Certificate } from './certificates.js';
import { readBlocks } from './pages.js';
import { freePort } from './ports.js';
import { begin, readText } from './program.js';
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

/** A gateway that runs. */
export interface Front {
  readonly url: string;
  /** Its configuration and its logs, until it is stopped. */
  readonly folder: string;
  stop(): Promise<void>;
}

/**
 * Makes the limits of time in a configuration longer: a replica on a slow machine would reach them, and count as dead.
 */
export const withLongLimits = (configuration: string): string =>
  configuration
    .replaceAll(/((?:proxy_\w+|client_body)_timeout|dial_timeout|lb_try_duration) \w+/g, '$1 600s')
    .replace(/timeout connect \w+/, 'timeout connect 600s\n  timeout check 600s')
    .replace('timeout server 10s', 'timeout server 600s')
    .replace('health_interval 1s', 'health_interval 1s\n  health_timeout 600s');

/**
 * HAProxy or Caddy with the block of docs/balancers.md. Its replica 10.0.0.1 is 127.0.0.1, and so on, with these ports.
 * @param change of the configuration
 */
export async function startBalancer(
  name: BalancerName,
  { PORT, MANAGEMENT_PORT }: Record<'PORT' | 'MANAGEMENT_PORT', string>,
  change = (text: string): string => text,
): Promise<Front> {
  const folder = mkdtempSync(join(tmpdir(), `${name}-`));
  const port = await freePort();
  const block = readBlocks('docs/balancers.md').find(({ language }) => language === name);
  const text = change(block?.text ?? '')
    .replaceAll(/10\.0\.0\.(\d):3000/g, `127.0.0.$1:${PORT}`)
    .replaceAll(' 3001', ` ${MANAGEMENT_PORT}`)
    .replace(':8080', `${name === 'caddy' ? 'http://' : ''}127.0.0.1:${port}`);
  const file = join(folder, 'configuration');
  writeFileSync(file, name === 'caddy' ? `{\n  admin off\n}\n${text}` : text);
  return serve([...PROGRAMS[name], file], folder, port);
}

/** What nginx would keep in folders that an ordinary user may not write to. */
const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

/**
 * nginx with deploy/nginx/nginx.conf.
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
  const text = change(readText('deploy/nginx/nginx.conf'))
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
  return serve([NGINX, '-p', folder, '-c', file, '-g', 'daemon off;'], folder, port);
}

/** Makes an address one of the callers, who are not limited. */
export const withCaller = (configuration: string, address: string): string =>
  configuration.replace('# 203.0.113.0/24 1;', `${address} 1;`);

/** Starts a program that listens on the port, and waits until it or a replica answers. */
async function serve(command: string[], folder: string, port: number): Promise<Front> {
  const { child, ended, output } = begin(command, folder, { HOME: folder });
  const url = `http://127.0.0.1:${port}`;
  await until(async () => {
    const hasEnded = child.exitCode !== null;
    // nginx answers this path itself
    return hasEnded || (await fetch(`${url}/.problem`)).status < 500;
  });
  if (child.exitCode !== null) throw new Error(`${command[0]}: ${output.stderr}`);
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  return { url, folder, stop };
}
