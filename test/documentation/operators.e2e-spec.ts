import { expect, it } from '@jest/globals';
import { blocksOf } from '../support/documentation.js';
import { walkThrough } from '../support/page-walk.js';
import { PATHS } from '../support/paths.js';

walkThrough('docs/operators.md', (walk) => {
  it('shows the line of the log that belongs to a problem document', async () => {
    const { world } = walk();
    const { text } = await world.get(`${PATHS.communicationCodes}?codetype=X`);
    const { instance } = JSON.parse(text) as { instance: string };
    const line = await world.service.waitForLog(
      ({ requestId }) => instance === `urn:uuid:${String(requestId)}`,
    );
    const shown = blocksOf('docs/operators.md').find(({ language }) => language === 'json');
    expect(Object.keys(line)).toEqual(Object.keys(JSON.parse(shown?.text ?? '') as object));
    expect(line).toMatchObject({ problem: 'invalid-query', status: 400, keyId: world.key.id });
  });
});
