import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { generateApiKey } from './api-keys/api-key.js';
import { looksLikeCredential } from './looks-like-credential.js';

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const token = `${part({ alg: 'RS256', kid: 'k' })}.${part({ iss: 'https://login.example' })}.AAAA`;

/** Percent-encodes some characters of a text, in hex of either case. */
const encoded = (text: string, which: readonly number[]): string =>
  Array.from(text, (character, at) => {
    const choice = which[at % which.length] ?? 0;
    const hex = character.charCodeAt(0).toString(16).padStart(2, '0');
    if (choice === 0 && character !== '%') return character;
    return `%${choice === 1 ? hex : hex.toUpperCase()}`;
  }).join('');

describe('looksLikeCredential', () => {
  it('finds keys and tokens at any position, in any case, percent-encoded up to four times, beside anything', () => {
    const credential = fc.constantFrom(generateApiKey(), token, token.split('.')[1] ?? '');
    const letterCase = fc.constantFrom('toString', 'toUpperCase', 'toLowerCase' as const);
    const around = fc.oneof(fc.string(), fc.constantFrom('%', '%zz', '%C3', 'é𝄞', 'a='));
    const choices = fc.array(fc.nat({ max: 2 }), { minLength: 1, maxLength: 70 });
    const layers = fc.array(choices, { maxLength: 4 });
    fc.assert(
      fc.property(credential, letterCase, around, around, layers, (text, to, before, after, of) => {
        const hidden = of.reduce(encoded, text[to as 'toString']());
        expect(looksLikeCredential(before + hidden + after, '')).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it('finds the key of the request, whatever it looks like', () => {
    const own = 'a Key of another System';
    for (const text of [own, `x${own.toUpperCase()}y`, encodeURIComponent(own), `${own}%zz`])
      expect(looksLikeCredential(text, own)).toBe(true);
  });

  it.each(['', 'SAMPLE-STATUS', 'a%zz', '100 %', 'TOOLS_1', 'heyJude', 'x'.repeat(8_000), 'é𝄞'])(
    'lets %j be shown',
    (text) => {
      expect(looksLikeCredential(text, 'a key of another system')).toBe(false);
    },
  );

  it('takes a text for one that is encoded more often than anybody would', () => {
    expect(looksLikeCredential(`%${'25'.repeat(2_000)}6f`, '')).toBe(true);
  });
});
