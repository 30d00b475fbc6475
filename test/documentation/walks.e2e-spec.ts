import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { readBlocks, isWalked } from '../support/pages.js';
import { PageWalk } from './page-walk.js';
import { PATHS } from '../support/paths.js';
import { shell } from '../support/program.js';
import { until } from '../support/until.js';

const walk = new PageWalk();

/**
 * The pages, each with a function that adds the tests after its blocks. Each block needs the blocks and pages before
 * it, so a later block fails if you select it with `-t`. Keep at-night.md last, because its test revokes all keys.
 */
const PAGES: Readonly<Record<string, () => void>> = {
  'docs/administrators.md': () => {
    it('has a migration that puts a deleted value back at its former position', async () => {
      const [value] = await walk.world.database.query(`select position from code_list_value where value = 'Best'`);
      expect(value).toEqual({ position: 6 });
    });
    // `down 3` undoes all of them: the block of the page with `up` has applied three migrations
    it('has migrations that `down 3` undoes; the history still names the migration that deleted a value', async () => {
      expect(await walk.run('npm run migrate -- down 3 --yes')).toMatchObject({ status: 0 });
      const [lists] = await walk.world.database.query(
        `select string_agg(value, ' ' order by code_list, position) as values from code_list_value
           where code_list in ('orderType', 'phoneNumberType', 'transportationMode')`,
      );
      expect(lists?.['values']).toBe('Standard Return Home Mobile Office Truck Rail Ocean LTL Parcel Best');
      const [change] = await walk.world.database.query(
        `select migration, new_row from change_history where old_row ->> 'value' = 'Best'`,
      );
      expect(change).toEqual({
        migration: expect.stringMatching(/^\d{14}_follow_recipe$/),
        new_row: null,
      });
    });
  },
  'docs/spreadsheets.md': () => undefined,
  'docs/operators.md': () => {
    it('shows all members of the log line of a refused query', async () => {
      const { service, key } = walk.world;
      const { text } = await walk.world.get(`${PATHS.communicationCodes}?codetype=X`);
      const line = await service.waitForLog(({ requestId }) => text.includes(String(requestId)));
      const shown = readBlocks('docs/operators.md').find(({ language }) => language === 'json');
      const written = JSON.parse(JSON.stringify(line)) as object; // JSON leaves out undefined members
      expect(Object.keys(written).toSorted()).toEqual(Object.keys(JSON.parse(shown?.text ?? '') as object).toSorted());
      expect(line).toMatchObject({ problem: 'invalid-query', statusCode: 400, keyId: key.id });
    });
  },
  'docs/upgrade.md': () => undefined,
  'docs/integrators.md': () => undefined,
  'README.md': () => undefined,
  'docs/at-night.md': () => {
    it('has a command that finds the reason and the client of a refused call by the id in the answer', async () => {
      const { database, service, key } = walk.world;
      await database.query('update api_key set revoked_at = now()');
      const ask = () => walk.world.get(PATHS.orderUpdate);
      await until(async () => (await ask()).status === 401);
      const { text } = await ask();
      const { requestId } = await service.waitForLog((line) => text.includes(String(line['requestId'])));
      const log = service.lines.map((line) => JSON.stringify(line)).join('\n');
      writeFileSync(join(walk.folder, 'service.log'), `${log}\n`);
      const texts = readBlocks('docs/at-night.md').map((block) => block.text);
      const shown = texts.find((one) => one.startsWith('grep ')) ?? '';
      const command = shown.replace(/[0-9a-f-]{36}/, String(requestId));
      const { stdout } = await shell(command, walk.folder, {});
      expect(JSON.parse(stdout)).toMatchObject({
        reason: 'revoked',
        keyId: key.id,
        client: 'test',
      });
    });
  },
};

describe.each(Object.entries(PAGES))('%s', (page, addTests) => {
  beforeAll(() => walk.copy.reset()); // removes migrations that the page before left unapplied
  const blocks = readBlocks(page).filter(isWalked);
  it.each(blocks)('line $line, $heading', (block) => walk.follow(block));
  addTests();
});
