import { describe, expect, it } from '@jest/globals';
import { randomTransactions } from '../support/random-transactions.js';

describe('two replicas answer what a query says', () => {
  it.each([1, 2])('after each of 25 random steps of seed %i', async (seed) => {
    const { difference } = await randomTransactions(25, seed);
    expect(difference).toBeUndefined();
  });
});
