import { expect, it } from '@jest/globals';
import { usedHeap } from '../../test/support/heap.js';
import type { ServiceRequest } from '../http/service-request.js';
import { CommunicationCodesQueryPipe } from './communication-codes-query.pipe.js';

const pipe = new CommunicationCodesQueryPipe();
const ask = (query: string, key?: string) =>
  pipe.transform({
    originalUrl: `/?${query}`,
    headers: { 'api-key': key },
  } as unknown as ServiceRequest);

it('a checked query is remembered, whoever asks, and another one is another', () => {
  const query = ask('codeType=T&code=C', 'a key');
  expect(query).toEqual({ codeType: 'T', code: 'C' });
  expect(ask('codeType=T&code=C', 'another key')).toBe(query);
  expect(ask('code=C')).toEqual({ code: 'C' });
  expect(ask('')).toEqual({});
});

it('a checked query is remembered in bounded memory', () => {
  const before = usedHeap();
  for (let code = 0; code < 20_000; code++) ask(`code=${code}${'&'.repeat(900)}`);
  for (let code = 0; code < 1_000; code++) ask(`code=${code}${'&'.repeat(7_900)}`);
  expect(usedHeap() - before).toBeLessThan(3_000_000); // all of them are twenty million
});
