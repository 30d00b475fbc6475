import { randomBytes } from 'node:crypto';
import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { generateApiKey } from '../auth/api-keys/api-key.js';
import { looksLikeCredential } from './looks-like-credential.js';

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const newToken = (): string =>
  `${part({ alg: 'ES256', kid: 'k' })}.${part({ iss: 'https://login.example', exp: 2e9 })}.${randomBytes(64).toString('base64url')}`;

/** Percent-encodes some characters of a text, in hex of either case. */
const encoded = (text: string, which: readonly number[]): string =>
  Array.from(text, (character, at) => {
    const choice = which[at % which.length];
    const hex = character.charCodeAt(0).toString(16).padStart(2, '0');
    if (choice === 0 && character !== '%') return character;
    return `%${choice === 1 ? hex : hex.toUpperCase()}`;
  }).join('');

const letterCase = fc.constantFrom('toString', 'toUpperCase', 'toLowerCase' as const);
const around = fc.oneof(fc.string(), fc.constantFrom('%', '%e', '%zz', '%C3', '%c3%a', 'é𝄞', 'a='));
const layers = fc.array(fc.array(fc.nat({ max: 2 }), { minLength: 1 }), { maxLength: 4 });
/** A credential, and how many characters of it give it away: of a token so many that one of its parts has 32. */
const credential = fc.constantFrom([generateApiKey, 34] as const, [newToken, 68] as const);
const cuts = fc.tuple(fc.nat({ max: 8 }), fc.nat({ max: 300 }));

it('finds keys and tokens at any position, in any case, without their beginning or end, encoded up to four times, beside anything', () => {
  fc.assert(
    fc.property(
      credential,
      cuts,
      letterCase,
      around,
      around,
      layers,
      ([make, least], [from, more], to, before, after, of) => {
        const whole = make()[to as 'toString']();
        const piece = whole.slice(from, from + least + more);
        const text = before + of.reduce(encoded, piece) + after;
        expect(looksLikeCredential(text, '')).toBe(true);
      },
    ),
    { numRuns: 2_000 },
  );
});

it('treats a text as a credential if it is still encoded after several decodings', () => {
  expect(looksLikeCredential(`%${'25'.repeat(2_000)}6f`, '')).toBe(true);
});

it.each([
  ...['', 'SAMPLE-STATUS', 'a%zz', '100 %', 'TOOLS_1', 'heyJude', 'thisParameterDoesNotExist'],
  ...['x'.repeat(8_000), '0123456789'.repeat(30), 'a text of words, as a description has', 'é𝄞'],
])('lets %j be shown', (text) => {
  expect(looksLikeCredential(text, 'a key of another system')).toBe(false);
});
