import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PROJECT, shell } from './program.js';
import { until } from './service.js';

const BRIDGE = 'swarm-nodes';
const NETWORK = '10.99.0';
const PATIENCE = { timeoutMs: 120_000, everyMs: 500 };

/** @throws Error with what the command printed where it did not succeed */
async function sh(command: string): Promise<string> {
  const { status, stdout, stderr } = await shell(command, PROJECT, {});
  if (status !== 0) throw new Error(`${command}: status ${status}: ${stdout}${stderr}`);
  return stdout.trim();
}

/**
 * A swarm of several nodes on one machine: a Docker engine of its own in a network namespace for each, all on one bridge.
 * The first is the manager. Needs root, and Debian's iproute2 and docker.io.
 */
export class SwarmNodes {
  private constructor(
    private readonly folder: string,
    private readonly count: number,
  ) {}

  static async start(count: number): Promise<SwarmNodes> {
    const nodes = new SwarmNodes(mkdtempSync(join(tmpdir(), 'nodes-')), count);
    try {
      await sh(
        `ip link add ${BRIDGE} type bridge && ip address add ${NETWORK}.254/24 dev ${BRIDGE} && ip link set ${BRIDGE} up`,
      );
      await sh(`iptables -I FORWARD -i ${BRIDGE} -o ${BRIDGE} -j ACCEPT`);
      for (const node of nodes.all) await nodes.startNode(node);
      const init = `swarm init --advertise-addr ${nodes.addressOf(1)}`;
      await sh(`docker -H ${nodes.engineOf(1)} ${init}`);
      const token = await sh(`docker -H ${nodes.engineOf(1)} swarm join-token -q worker`);
      for (const node of nodes.all.slice(1))
        await sh(
          `docker -H ${nodes.engineOf(node)} swarm join --token ${token} --advertise-addr ${nodes.addressOf(node)} ${nodes.addressOf(1)}:2377`,
        );
      return nodes;
    } catch (error) {
      await nodes.stop();
      throw error;
    }
  }

  get all(): number[] {
    return Array.from({ length: this.count }, (_, at) => at + 1);
  }

  addressOf(node: number): string {
    return `${NETWORK}.${10 + node}`;
  }

  engineOf(node: number): string {
    return `unix://${join(this.folder, String(node), 'docker.sock')}`;
  }

  /** From now on nobody reaches it, and it reaches nobody. */
  async lose(node: number): Promise<void> {
    await sh(`ip link set ${linkOf(node)} down`);
  }

  async find(node: number): Promise<void> {
    await sh(`ip link set ${linkOf(node)} up`);
  }

  async stop(): Promise<void> {
    for (const node of this.all) {
      await this.find(node).catch(() => undefined);
      const pid = this.pidOf(node);
      if (pid === undefined) continue;
      process.kill(pid);
      await until(() => sh(`! kill -0 ${pid}`).then(() => true), PATIENCE);
    }
    for (const node of this.all) await sh(`ip netns delete ${linkOf(node)} || true`);
    await sh(`ip link delete ${BRIDGE} || true`);
    await sh(`iptables -D FORWARD -i ${BRIDGE} -o ${BRIDGE} -j ACCEPT || true`);
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async startNode(node: number): Promise<void> {
    const link = linkOf(node);
    const folder = join(this.folder, String(node));
    await sh(
      [
        `ip netns add ${link}`,
        `ip link add ${link} type veth peer name eth0 netns ${link}`,
        `ip link set ${link} master ${BRIDGE} up`,
        `ip -n ${link} link set lo up`,
        `ip -n ${link} address add ${this.addressOf(node)}/24 dev eth0`,
        `ip -n ${link} link set eth0 up`,
        `ip -n ${link} route add default via ${NETWORK}.254`,
        `mkdir ${folder}`,
      ].join(' && '),
    );
    // nsenter and not `ip netns exec`, which hides the cgroups; a host name of its own for each
    const engine = `dockerd --data-root ${folder}/data --exec-root ${folder}/exec --pidfile ${folder}/pid -H ${this.engineOf(node)} --cgroup-parent /${link}`;
    await sh(
      `setsid nsenter --net=/var/run/netns/${link} unshare --uts sh -c 'hostname ${link}; exec ${engine}' >${folder}/log 2>&1 </dev/null &`,
    );
    await until(() => sh(`docker -H ${this.engineOf(node)} info`).then(() => true), PATIENCE);
  }

  private pidOf(node: number): number | undefined {
    try {
      return Number(readFileSync(join(this.folder, String(node), 'pid'), 'utf8'));
    } catch {
      return undefined;
    }
  }
}

const linkOf = (node: number): string => `swarm-node${node}`;
