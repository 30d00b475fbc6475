import { expect, it } from '@jest/globals';
import { randomTransactions } from '../support/random-transactions.js';

// `npm run faults -- transactions` does it for as long as you like
it('the service answers what a query says after each of 40 random steps', async () => {
  const { difference } = await randomTransactions(40, 2);
  expect(difference).toBeUndefined();
});
