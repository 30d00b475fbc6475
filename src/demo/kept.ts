// What stays the same from one start of the demo to the next, so that a terminal that has loaded .data/demo.env goes on
// working.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, type Server, createServer } from 'node:net';
import { join } from 'node:path';
import { StartError } from '../configuration/start-error.js';
import { DATA } from './demo-folder.js';
import { readKeptObject, writeKept } from './kept-files.js';

const FILE = join(DATA, 'kept.json');
/** What the first start tries; 0 is any free port. */
const FIRST_PORTS = { PORT: 3000, MANAGEMENT_PORT: 3001, ISSUER_PORT: 3002, DATABASE_PORT: 0 };

type PortName = keyof typeof FIRST_PORTS;
const PORT_NAMES = Object.keys(FIRST_PORTS) as PortName[];

export interface Kept extends Record<PortName, number> {
  /** Of the demo's client at the issuer. */
  readonly secret: string;
}

/** Ports of this start. Each is taken by this process until it is released, and has to be used at once then. */
export interface KeptPorts {
  readonly kept: Kept;
  readonly release: (name: PortName) => Promise<void>;
}

/**
 * The ports as they are set, or else as at the last start, and the secret of the demo's client. A port that is taken is
 * replaced, which is told.
 * @throws StartError if a variable is not a port
 */
export async function keep(environment: NodeJS.ProcessEnv): Promise<KeptPorts> {
  const last = read();
  const set = portsSet(environment);
  const kept: Kept = { ...last, ...set };
  const holders = new Map<PortName, Server>();
  for (const name of PORT_NAMES) {
    if (set[name] !== undefined) continue;
    const isFree = !Object.values(set).includes(last[name]);
    const holder = await holdPort(isFree ? last[name] : 0);
    kept[name] = portOf(holder);
    holders.set(name, holder);
    if (last[name] > 0 && kept[name] !== last[name])
      process.stderr.write(
        `Port ${last[name]} is taken by another program: ${name} of the demo is ${kept[name]} from now on. ` +
          'Load .data/demo.env again in open terminals.\n',
      );
  }
  const release = async (name: PortName): Promise<void> => {
    const holder = holders.get(name);
    if (!holder) return;
    holder.close();
    await once(holder, 'close');
  };
  return { kept, release };
}

/** Called once all ports were bound: a start that fails changes nothing. */
export function save(kept: Kept): void {
  writeKept(FILE, JSON.stringify(kept));
}

/** Of a damaged file, what is usable. */
function read(): Kept {
  const found = readKeptObject(FILE) ?? {};
  const { secret } = found;
  const isSecret = typeof secret === 'string' && secret.length > 0;
  const kept: Kept = {
    ...FIRST_PORTS,
    secret: isSecret ? secret : randomBytes(12).toString('hex'),
  };
  for (const name of PORT_NAMES) if (isPort(found[name])) kept[name] = found[name];
  return kept;
}

function portsSet(environment: NodeJS.ProcessEnv): Partial<Record<PortName, number>> {
  const ports: Partial<Record<PortName, number>> = {};
  for (const name of ['PORT', 'MANAGEMENT_PORT', 'ISSUER_PORT'] as const) {
    const text = environment[name];
    if (!text) continue;
    const port = Number(text);
    if (!isPort(port)) throw new StartError(`${name} is "${text}": a whole number from 1 to 65535 is needed.`);
    ports[name] = port;
  }
  return ports;
}

function isPort(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 && value < 65_536;
}

/** @param wanted is taken if it is free, else any */
async function holdPort(wanted: number): Promise<Server> {
  const holder = createServer((socket) => socket.destroy()).listen(wanted, '127.0.0.1');
  try {
    await once(holder, 'listening');
    return holder;
  } catch {
    return holdPort(0);
  }
}

function portOf(server: Server): number {
  const { port } = server.address() as AddressInfo;
  return port;
}
