import { setTimeout as pause } from 'node:timers/promises';
import { Swarm } from '../support/swarm.js';
import { SwarmNodes } from '../support/swarm-nodes.js';
import { deploy, timed, under } from './stack.js';

/** A swarm of three nodes on this machine, one of which is cut off under 200 requests a second and comes back. Gives what failed. */
export async function nodeLost(seconds = 60): Promise<string> {
  const nodes = await SwarmNodes.start(3);
  try {
    const swarm = await Swarm.prepare(nodes);
    const credentials = await deploy(swarm);
    await swarm.settled();
    const lines: string[] = [];
    const faults: Record<string, () => Promise<string>> = {
      [`a node of three lost for ${seconds} s, with one of three replicas`]: async () => {
        const took = timed(async () => {
          await nodes.lose(3);
          await swarm.lacks(1);
        });
        await Promise.all([took, pause(seconds * 1000)]);
        return `its replica replaced after ${await took}`;
      },
      'the node is back': () => timed(() => nodes.find(3).then(() => swarm.lacks(0))),
    };
    for (const [name, fault] of Object.entries(faults)) {
      lines.push(await under(swarm, credentials, name, fault));
      console.error(lines.at(-1));
    }
    return lines.join('\n');
  } finally {
    await nodes.stop();
  }
}
