// What stays the same from one start of the demo to the next, so that a terminal that has loaded .data/demo.env goes on working.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { DATA } from './demo-postgres.js';

const FILE = join(DATA, 'kept.json');
const PORTS = { PORT: 3000, MANAGEMENT_PORT: 3001, ISSUER_PORT: 3002, DATABASE_PORT: 0 };

/** The ports as they are set, or else as at the last start, and the secret of the demo's client. A port that is taken is replaced, which is told. */
export async function keep(set: NodeJS.ProcessEnv) {
  const kept = { secret: randomBytes(12).toString('hex'), ...PORTS, ...read() };
  for (const name of Object.keys(PORTS) as (keyof typeof PORTS)[]) {
    const port = Number(set[name]) || (await freePort(kept[name]));
    if (!set[name] && kept[name] > 0 && port !== kept[name])
      process.stderr.write(
        `Port ${kept[name]} is taken by another program: ${name} of the demo is ${port} from now on. Load .data/demo.env again in open terminals.\n`,
      );
    kept[name] = port;
  }
  return kept;
}

function read(): object {
  try {
    return JSON.parse(readFileSync(FILE, 'utf8')) as object;
  } catch {
    return {}; // the first start, or a damaged file
  }
}

/** Called once all ports were bound: a start that fails changes nothing. */
export const save = (kept: object) => writeFileSync(FILE, JSON.stringify(kept), { mode: 0o600 });

async function freePort(wanted: number): Promise<number> {
  const server = createServer().listen(wanted, '127.0.0.1');
  const isFree = await once(server, 'listening').then(Boolean, () => false);
  if (!isFree) return freePort(0);
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}
