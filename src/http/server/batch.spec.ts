import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as endOfTurn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { Batch } from './batch.js';

const numbers = (count: number): number[] => Array.from({ length: count }, (_, at) => at);
const ignore = (): void => undefined;

describe('Batch', () => {
  it('handles what came in one turn together at its end, in order', async () => {
    const handled: number[] = [];
    const batch = new Batch<number>((item) => handled.push(item), ignore);
    for (const item of numbers(3)) batch.add(item);
    expect(handled).toEqual([]);
    await endOfTurn();
    expect(handled).toEqual(numbers(3));
    batch.add(3);
    await endOfTurn();
    expect(handled).toEqual(numbers(4));
  });

  it('lets nobody wait for more than fifteen others', async () => {
    const handled: number[] = [];
    const batch = new Batch<number>((item) => handled.push(item), ignore);
    for (const item of numbers(40)) batch.add(item);
    expect(handled).toEqual(numbers(32));
    await endOfTurn();
    expect(handled).toEqual(numbers(40));
  });

  it('leaves to the next turn what comes while it handles', async () => {
    const handled: number[] = [];
    const batch = new Batch<number>((item) => {
      handled.push(item);
      if (item === 0) batch.add(1);
    }, ignore);
    batch.add(0);
    await endOfTurn();
    expect(handled).toEqual([0]);
    await endOfTurn();
    expect(handled).toEqual([0, 1]);
  });

  it('handles the rest where an item throws, and says which one did', async () => {
    const handled: number[] = [];
    const failed: unknown[] = [];
    const batch = new Batch<number>(
      (item) => {
        if (item % 3 === 1) throw new Error(`no ${item}`);
        handled.push(item);
      },
      (item, error) => failed.push([item, (error as Error).message]),
    );
    for (const item of numbers(18)) batch.add(item);
    await endOfTurn();
    expect(handled).toEqual(numbers(18).filter((item) => item % 3 !== 1));
    expect(failed).toEqual([1, 4, 7, 10, 13, 16].map((item) => [item, `no ${item}`]));
  });

  it('handles each item once, in order and in its own context, whatever the others do and whenever they come', async () => {
    const context = new AsyncLocalStorage<number>();
    const deeds = fc.constantFrom('nothing', 'throw', 'enter', 'add', 'wait');
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ deed: deeds, pause: fc.boolean() }), { maxLength: 60 }),
        async (items) => {
          let added = 0;
          const handled: number[] = [];
          const mixed: unknown[] = [];
          const look = (name: number): void => {
            if (context.getStore() !== name) mixed.push([name, context.getStore()]);
          };
          const add = (deed: string): void => {
            const name = added++;
            context.run(name, () => batch.add({ name, deed }));
          };
          const batch = new Batch<{ name: number; deed: string }>(({ name, deed }) => {
            look(name);
            handled.push(name);
            if (deed === 'throw') throw new Error('on purpose');
            if (deed === 'add') add('nothing');
            if (deed === 'wait') void endOfTurn().then(() => look(name));
            if (deed === 'enter') context.enterWith(-1);
          }, ignore);
          for (const { deed, pause } of items) {
            add(deed);
            if (pause) await endOfTurn();
          }
          while (handled.length < added) await endOfTurn();
          await endOfTurn();
          expect({ handled, mixed }).toEqual({ handled: numbers(added), mixed: [] });
        },
      ),
    );
  });
});
