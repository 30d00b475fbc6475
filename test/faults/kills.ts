import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { readLastGood } from '../../src/last-good/last-good-file.js';
import type { World } from '../support/world.js';

const CODES = 50_000;
const CHANGE_MS = 100;
/** A replica is killed at a random time up to this after it listens: reading, first write and second write fall into it. */
const LONGEST_MS = 6_000;

/** A replica is killed at so many random times while codes change. After each, LAST_GOOD_FILE has to be readable. */
export async function kills(world: World, count = 200): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'order-lookup-'));
  const path = join(folder, 'last-good');
  const { database } = world;
  await database.addCodes(CODES);
  const [{ all } = { all: 0 }] = await database.query<{ all: number }>(
    'select count(*)::int as "all" from communication_code',
  );
  let changes = 0;
  const changing = setInterval(() => {
    void database
      .query(`update communication_code set description = $1 where code = 'CODE-1'`, [
        `Change ${++changes}`,
      ])
      .catch(() => undefined);
  }, CHANGE_MS);
  const found = { unreadable: [] as string[], none: 0, new: 0, halfWay: 0 };
  let leftovers = new Set<string>();
  let lastConfirmedAt = 0;
  try {
    for (let kill = 0; kill < count; kill++) {
      const replica = await world.start({ LAST_GOOD_FILE: path });
      await pause(Math.random() ** 2 * LONGEST_MS); // more often soon, when the first write falls due
      await replica.kill();
      const temporary = new Set((await readdir(folder)).filter((name) => name.endsWith('-tmp')));
      if ([...temporary].some((name) => !leftovers.has(name))) found.halfWay++;
      leftovers = temporary;
      if (!existsSync(path)) found.none++;
      else
        try {
          const { confirmedAt, rows } = await readLastGood(path);
          if (rows.records.length !== all) throw new Error('codes are missing');
          if (confirmedAt > lastConfirmedAt) found.new++;
          lastConfirmedAt = confirmedAt;
        } catch (error) {
          found.unreadable.push(String(error));
        }
    }
    return [
      `${count} kills, a change every ${CHANGE_MS} ms (${changes} in all), ${CODES} codes: the file was unreadable ${found.unreadable.length} times`,
      `${found.halfWay} kills came in the middle of a write, ${found.new} after one, ${found.none} before the first; ${leftovers.size} temporary files are left of the last minute`,
      ...found.unreadable.slice(0, 5),
    ].join('\n');
  } finally {
    clearInterval(changing);
    await rm(folder, { recursive: true, force: true });
  }
}
