import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './postgres-server.js';
import { PROJECT } from './program.js';
import { until } from './service.js';

const PROGRAM = '/usr/sbin/nginx';
export const hasNginx = existsSync(PROGRAM);
const MODULES = ['ndk_http_module', 'ngx_http_lua_module'].map(
  (name) => `/usr/share/nginx/modules/${name}.so`,
);
/** Debian's package libnginx-mod-http-lua. Without it nobody counts as a stranger. */
export const hasLua = MODULES.every((path) => existsSync(path));
const withoutLua = (text: string): string =>
  text
    .replaceAll(/^ *(lua_|init_by_lua|log_by_lua).*\n/gm, '')
    .replace(/set_by_lua_block.*/, "set $stranger '';");

const shipped = (name: string): string =>
  readFileSync(join(PROJECT, 'deploy', 'nginx', name), 'utf8');

/** nginx with the configuration of deploy/nginx in front of replicas at fixed ports, all on the loopback address. */
export class Nginx {
  private constructor(
    private readonly child: ChildProcess,
    private readonly folder: string,
    readonly url: string,
  ) {}

  /** @param replicas ports of the loopback address, or addresses */
  static async start(replicas: readonly (number | string)[]): Promise<Nginx> {
    const folder = mkdtempSync(join(tmpdir(), 'nginx-'));
    const port = await freePort();
    const servers = replicas
      .map((one) => `  server ${typeof one === 'number' ? '127.0.0.1:' : ''}${one} max_fails=0;\n`)
      .join('');
    const files = {
      'nginx.conf': shipped('nginx.conf')
        .replace(
          /^include .*modules.*$/m,
          hasLua ? MODULES.map((path) => `load_module ${path};\n`).join('') : '',
        )
        .replaceAll('/tmp/', `${folder}/`)
        .replaceAll('/etc/nginx/', `${folder}/`),
      'order-lookup.conf': (hasLua
        ? shipped('order-lookup.conf')
        : withoutLua(shipped('order-lookup.conf'))
      )
        .replaceAll('/etc/nginx/', `${folder}/`)
        .replace('listen 8080 default_server', `listen 127.0.0.1:${port} default_server`)
        .replace('/dev/stdout', join(folder, 'access.log'))
        .replace('buffer=16k flush=1s', ''),
      'strangers.lua': shipped('strangers.lua'),
      'replicas.conf': shipped('replicas-fixed.conf').replace(/(^ *server .*\n)+/m, servers),
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    const words = ['-p', folder, '-c', join(folder, 'nginx.conf'), '-g', 'daemon off;'];
    const child = spawn(PROGRAM, words, { stdio: ['ignore', 'ignore', 'pipe'] });
    let errors = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
    const nginx = new Nginx(child, folder, `http://127.0.0.1:${port}`);
    const ended = once(child, 'exit').then(() =>
      Promise.reject(new Error(`nginx ended: ${errors}`)),
    );
    await Promise.race([until(() => canConnect(port)), ended]);
    ended.catch(() => undefined);
    return nginx;
  }

  /** A line for each request so far. */
  get log(): string {
    return readFileSync(join(this.folder, 'access.log'), 'utf8');
  }

  async stop(): Promise<void> {
    this.child.kill('SIGTERM');
    if (this.child.exitCode === null) await once(this.child, 'exit');
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function canConnect(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return new Promise((resolve) => {
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
  }).finally(() => socket.destroy()) as Promise<boolean>;
}
