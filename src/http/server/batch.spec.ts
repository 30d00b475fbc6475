import { setImmediate as endOfTurn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { Batch } from './batch.js';

const numbers = (count: number): number[] => Array.from({ length: count }, (_, at) => at);

describe('Batch', () => {
  it('handles what came in one turn together at its end, in order', async () => {
    const handled: number[] = [];
    const batch = new Batch<number>((item) => handled.push(item));
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
    const batch = new Batch<number>((item) => handled.push(item));
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
    });
    batch.add(0);
    await endOfTurn();
    expect(handled).toEqual([0]);
    await endOfTurn();
    expect(handled).toEqual([0, 1]);
  });
});
