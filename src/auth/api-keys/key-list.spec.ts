import { expect, it } from '@jest/globals';
import { type KeyList, keysFromJson, keysToJson } from './key-list.js';

const KEYS: KeyList = new Map([
  ['00ff', { keyId: '1', client: 'Grüße', expiresAtMs: Infinity, revokedAtMs: 0 }],
  ['ff00', { keyId: '2', client: 'c', expiresAtMs: 5_000, revokedAtMs: Infinity }],
]);

it('keys are the same after JSON', () => {
  expect(keysFromJson(JSON.parse(JSON.stringify(keysToJson(KEYS))))).toEqual(KEYS);
});

const KEY = { keyHash: '00ff', keyId: '1', client: 'c', expiresAtMs: null, revokedAtMs: null };
it.each([{}, [null], [{ ...KEY, keyHash: 1 }], [{ ...KEY, client: undefined }], [{ ...KEY, revokedAtMs: '' }]])(
  'keys of another form are refused: %j',
  (json) => {
    expect(() => keysFromJson(json)).toThrow('it is damaged');
  },
);
