import { expect, it } from '@jest/globals';
import { changesBetween } from './changes.js';

it('compares 20,000 codes with 10,000 moments ahead in two seconds', () => {
  const now = Date.now();
  const records = Array.from({ length: 20_000 }, (_, at) => {
    const validFrom = at % 2 ? now + at * 60_000 : -Infinity;
    const validity = { validFrom, validUntil: Infinity };
    return { codeType: 'T', code: `${at}`, json: '{"description":"d"}', validity };
  });
  const before = { properties: [], values: [], records: records.slice(1) };
  const changes = changesBetween(before, { ...before, records }, now);
  expect(changes.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
    'added codeType "T", code "0"',
  ]);
  expect(Date.now() - now).toBeLessThan(2_000);
});
