import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { generateApiKey } from './api-keys/api-key.js';
import { looksLikeCredential } from './looks-like-credential.js';

/** How many cases are made; a failure prints its seed. */
const numRuns = Number(process.env['CASES'] ?? 20_000);

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const newToken = (): string =>
  `${part({ alg: 'ES256', kid: 'k' })}.${part({ iss: 'https://login.example', exp: 2_000_000_000 })}.${randomBytes(64).toString('base64url')}`;

/** Percent-encodes some characters of a text, in hex of either case. */
const encoded = (text: string, which: readonly number[]): string =>
  Array.from(text, (character, at) => {
    const choice = which[at % which.length] ?? 0;
    const hex = character.charCodeAt(0).toString(16).padStart(2, '0');
    if (choice === 0 && character !== '%') return character;
    return `%${choice === 1 ? hex : hex.toUpperCase()}`;
  }).join('');

const letterCase = fc.constantFrom('toString', 'toUpperCase', 'toLowerCase' as const);
const around = fc.oneof(fc.string(), fc.constantFrom('%', '%e', '%zz', '%C3', '%c3%a', 'é𝄞', 'a='));
const choices = fc.array(fc.nat({ max: 2 }), { minLength: 1, maxLength: 70 });
const layers = (maxLength: number) => fc.array(choices, { maxLength });

describe('looksLikeCredential', () => {
  it('finds keys and tokens at any position, in any case, percent-encoded up to four times, beside anything', () => {
    const credential = fc.constantFrom(
      generateApiKey,
      newToken,
      () => newToken().split('.')[1] ?? '',
    );
    fc.assert(
      fc.property(
        credential,
        letterCase,
        around,
        around,
        layers(4),
        (make, to, before, after, of) => {
          const hidden = of.reduce(encoded, make()[to as 'toString']());
          expect(looksLikeCredential(before + hidden + after, '')).toBe(true);
        },
      ),
      { numRuns: numRuns / 10 },
    );
  });

  it('finds the rest of a credential whose beginning is lost in a broken escape, or whose end was cut off', () => {
    // 32 characters of a key; of a token so many that one of its parts has 32
    const credential = fc.constantFrom([generateApiKey, 32] as const, [newToken, 66] as const);
    const cuts = fc.tuple(fc.nat({ max: 8 }), fc.nat({ max: 300 }));
    const eaters = fc.constantFrom('', '%e', '%c3%a', '%', '%f0%9d%84%9', 'x=%4');
    fc.assert(
      fc.property(
        credential,
        cuts,
        letterCase,
        eaters,
        around,
        layers(2),
        ([make, least], [from, more], to, eater, after, of) => {
          const whole = make()[to as 'toString']();
          const hidden = of.reduce(encoded, whole.slice(from, from + least + 2 + more));
          expect(looksLikeCredential(eater + hidden + after, '')).toBe(true);
          expect(looksLikeCredential(decodable(eater + hidden), '')).toBe(true);
        },
      ),
      { numRuns },
    );
  });

  it('finds the key of the request, whatever it looks like, and pieces of it', () => {
    const own = 'a Key of another System';
    for (const text of [own, `x${own.toUpperCase()}y`, encodeURIComponent(own), `${own}%zz`])
      for (const cut of [text, text.slice(3), text.slice(0, -5)])
        expect(looksLikeCredential(cut, own)).toBe(true);
    expect(looksLikeCredential('x=SHORT', 'short')).toBe(true);
    expect(looksLikeCredential('another', own)).toBe(false);
  });

  it.each([
    '',
    'SAMPLE-STATUS',
    'a%zz',
    '100 %',
    'TOOLS_1',
    'heyJude',
    'thisParameterDoesNotExist',
    'x'.repeat(8_000),
    '0123456789'.repeat(30),
    'a text of many words, as a description has them',
    'é𝄞',
  ])('lets %j be shown', (text) => {
    expect(looksLikeCredential(text, 'a key of another system')).toBe(false);
  });

  it('treats a text as a credential if it is still encoded after several decodings', () => {
    expect(looksLikeCredential(`%${'25'.repeat(2_000)}6f`, '')).toBe(true);
  });
});

/** What a server sees where the encoding of a text is not broken. */
function decodable(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
