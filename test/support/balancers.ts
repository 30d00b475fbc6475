import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readBlocks } from './pages.js';
import { freePort } from './postgres-server.js';
import { begin } from './program.js';
import { until } from './until.js';

const PROGRAMS = {
  haproxy: ['/usr/sbin/haproxy', '-db', '-f'],
  caddy: ['/usr/bin/caddy', 'run', '--adapter', 'caddyfile', '--config'],
} as const;
type BalancerName = keyof typeof PROGRAMS;
export const BALANCERS = Object.keys(PROGRAMS) as BalancerName[];

export const isInstalled = (name: BalancerName): boolean => existsSync(PROGRAMS[name][0]);

export interface Front {
  readonly url: string;
  /** Its own, with its configuration. It is removed with it. */
  readonly folder: string;
  stop(): Promise<void>;
}

/** Starts a program that listens on the port of the loopback address, and waits until it or a replica answers. */
export async function serve(command: string[], folder: string, port: number): Promise<Front> {
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
