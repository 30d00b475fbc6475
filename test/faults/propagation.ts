import { Agent, get } from 'node:http';
import { PATHS } from '../support/paths.js';
import { World } from '../support/world.js';
import { quantiles } from './figures.js';

const CHANGES = 100;

/** Commits changes one after the other and says how long each took to be served by all of three replicas. */
export async function propagation(): Promise<string> {
  const stage = await World.apart(3);
  const agent = new Agent({ keepAlive: true });
  const ask = (base: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const headers = { 'Api-Key': stage.credentials.key, Authorization: stage.credentials.token };
      get(base + PATHS.orderUpdate, { agent, headers }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.once('end', () => resolve(text));
      }).once('error', reject);
    });
  try {
    const delays: number[] = [];
    for (let change = 0; change < CHANGES; change++) {
      await stage.database.query(
        `insert into code_list_value (code_list, value) values ('orderType', $1)`,
        [`Change ${change}`],
      );
      const committedAt = performance.now();
      const everywhere = stage.replicas.map(async ({ url }) => {
        while (!(await ask(url)).includes(`"Change ${change}"`));
        return performance.now() - committedAt;
      });
      delays.push(Math.max(...(await Promise.all(everywhere))));
    }
    return `${CHANGES} committed changes, each served by ${stage.replicas.length} replicas after: ${quantiles(delays)}`;
  } finally {
    agent.destroy();
    await stage.close();
  }
}
