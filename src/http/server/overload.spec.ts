import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { Overload } from './overload.js';

describe('Overload', () => {
  let time = 0;
  const overload = new Overload(() => time);
  /** How many requests of a turn are admitted, if each takes so many milliseconds. */
  const admitted = async (count: number, each: number): Promise<number> => {
    let sum = 0;
    for (let request = 0; request < count; request++) {
      if (overload.admits()) sum++;
      time += each;
    }
    await nextTurn();
    return sum;
  };

  it('admits half a second of work, and refuses the rest of the turn', async () => {
    for (const turn of ['first', 'second']) {
      expect([turn, await admitted(15_000, 1 / 30)]).toEqual([turn, 15_000]);
      expect([turn, await admitted(30_000, 1 / 30)]).toEqual([turn, 15_359]);
    }
  });

  it('admits half a second of work in each turn, and little more, by chance', async () => {
    const turns = fc.array(
      fc.record({ count: fc.nat(3_000), each: fc.double({ min: 0, max: 2, noNaN: true }) }),
      {
        maxLength: 5,
      },
    );
    await fc.assert(
      fc.asyncProperty(turns, async (all) => {
        for (const { count, each } of all) {
          const sum = await admitted(count, each);
          expect(sum).toBeGreaterThanOrEqual(Math.min(count, Math.floor(500 / each)));
          expect(sum).toBeLessThanOrEqual(Math.ceil(500 / each) + 512);
        }
      }),
    );
  });
});
