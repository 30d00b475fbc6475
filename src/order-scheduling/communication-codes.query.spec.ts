import { expect, it } from '@jest/globals';
import { measureHeap } from '../../test/support/process-figures.js';
import { CommunicationCodesQueryParser } from './communication-codes.query.js';

const PATH = '/order-scheduling/communication-codes';

it('a valid query is checked only once', () => {
  const parser = new CommunicationCodesQueryParser();
  const target = `${PATH}?codeType=A%20B&code=1`;
  const query = parser.parse(target);
  expect(query).toEqual({ codeType: 'A B', code: '1' });
  expect(parser.parse(target)).toBe(query);
});

it.each([
  { name: 'short', queryOf: (index: number) => `codeType=${index}`, count: 50_000 },
  {
    name: 'long', // Node.js accepts a target with a fragment (#…), and no rule limits the length of the fragment
    queryOf: (index: number) => `code=${index}-of-many#${'x'.repeat(15_000)}`,
    count: 5_000,
  },
])('many $name queries are remembered in bounded memory', ({ queryOf, count }) => {
  const parser = new CommunicationCodesQueryParser();
  const before = measureHeap();
  for (let index = 0; index < count; index++) {
    // A new text each time, as Node.js makes it from the bytes of a request
    parser.parse(Buffer.from(`${PATH}?${queryOf(index)}`).toString('latin1'));
  }
  expect(measureHeap() - before).toBeLessThan(8 * 1024 ** 2); // MAX_REMEMBERED_QUERIES_BYTES
});
