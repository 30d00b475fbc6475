import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Front, serve } from './balancers.js';
import { freePort } from './postgres-server.js';
import { textOf } from './program.js';

const PROGRAM = '/usr/sbin/nginx';
/** Of Debian's package libnginx-mod-http-lua. */
const MODULES = ['ndk_http_module', 'ngx_http_lua_module'].map((name) => `/usr/share/nginx/modules/${name}.so`);
export const hasNginx = [PROGRAM, ...MODULES].every((path) => existsSync(path));

const shipped = (name: string): string => textOf(`deploy/nginx/${name}`);

/**
 * nginx with the configuration of deploy/nginx, on the loopback address.
 * @param replicas with host and port
 * @param change of the configuration
 */
export async function startNginx(replicas: readonly string[], change = (text: string): string => text): Promise<Front> {
  const folder = mkdtempSync(join(tmpdir(), 'nginx-'));
  const port = await freePort();
  const servers = replicas.map((one) => `  server ${one} max_fails=0;\n`).join('');
  const modules = MODULES.map((path) => `load_module ${path};\n`).join('');
  const files = {
    'nginx.conf': shipped('nginx.conf').replace(/^include .*modules.*$/m, modules),
    'order-lookup.conf': change(shipped('order-lookup.conf'))
      .replace('listen 8080 default_server', `listen 127.0.0.1:${port} default_server`)
      .replace('/dev/stdout', join(folder, 'access.log'))
      .replace('buffer=16k flush=1s', ''),
    'strangers.lua': shipped('strangers.lua'),
    'replicas.conf': shipped('replicas-fixed.conf').replace(/(^ *server .*\n)+/m, servers),
  };
  for (const [name, text] of Object.entries(files))
    writeFileSync(join(folder, name), text.replaceAll(/\/(tmp|etc\/nginx)\/(?!nginx-)/g, `${folder}/`));
  const words = ['-p', folder, '-c', join(folder, 'nginx.conf'), '-g', 'daemon off;'];
  return serve([PROGRAM, ...words], folder, port);
}
