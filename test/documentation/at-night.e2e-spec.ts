import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { blocksOf, idsIn } from '../support/documentation.js';
import { walkThrough } from '../support/page-walk.js';
import { PATHS } from '../support/paths.js';
import { shell } from '../support/program.js';
import { until } from '../support/service.js';

walkThrough('docs/at-night.md', (walk) => {
  it('finds why a call was refused, and whose key it was, by the id that the caller sends', async () => {
    const { folder, world } = walk();
    await world.database.query('update api_key set revoked_at = now()');
    let instance = '';
    await until(async () => {
      const reply = await world.get(PATHS.orderUpdate);
      ({ instance } = JSON.parse(reply.text) as { instance: string });
      return reply.status === 401;
    });
    await world.service.waitForLog(({ requestId }) => instance.endsWith(String(requestId)));
    const log = world.service.lines.map((line) => JSON.stringify(line)).join('\n');
    writeFileSync(join(folder, 'service.log'), `${log}\n`);
    const [block] = blocksOf('docs/at-night.md').filter(({ text }) => text.startsWith('grep '));
    const [shown = ''] = idsIn(block?.text ?? '');
    const command = (block?.text ?? '').replace(shown, instance.replace('urn:uuid:', ''));
    const { stdout } = await shell(command, folder, {});
    expect(JSON.parse(stdout)).toMatchObject({
      status: 401,
      reason: 'revoked',
      keyId: world.key.id,
      client: expect.any(String),
    });
  });
});
