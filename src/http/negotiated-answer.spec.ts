import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type Answer, lookup } from './answer.js';
import { CodingMemory, NegotiatedAnswer } from './negotiated-answer.js';

const accepting = (coding: string): IncomingMessage =>
  ({ headers: { 'accept-encoding': coding } }) as unknown as IncomingMessage;
const bytesOf = ({ parts }: Answer): Buffer => Buffer.concat(parts);

describe('NegotiatedAnswer', () => {
  it('gives identity until a coding is made, makes one at a time, and none beyond the memory', async () => {
    const answers = fc.array(fc.integer({ min: 0, max: 200_000 }), { minLength: 1, maxLength: 5 });
    const room = fc.integer({ min: 0, max: 400_000 });
    await fc.assert(
      fc.asyncProperty(answers, room, async (sizes, bytes) => {
        const memory = new CodingMemory();
        memory.bytes = bytes;
        const all = sizes.map((size, at) => {
          const body = randomBytes(size);
          const parts = [body.subarray(0, size >> 1), body.subarray(size >> 1)];
          return new NegotiatedAnswer(parts, `"${at}"`, lookup(), memory);
        });
        const asked = all.flatMap((answer) => [
          { answer, coding: 'gzip', decode: gunzipSync },
          { answer, coding: 'br', decode: brotliDecompressSync },
        ]);
        let before = memory.bytes;
        for (let given = 0, idle = 0; idle < 50; idle++) {
          const chosen = asked.map(({ answer, coding }) =>
            answer.representationFor(accepting(coding)),
          );
          const coded = chosen.filter((answer, at) => answer !== asked[at]?.answer);
          const used = coded.reduce((sum, answer) => sum + bytesOf(answer).length, 0);
          expect(memory.bytes).toBe(bytes - used);
          expect(memory.bytes).toBeGreaterThanOrEqual(0);
          expect(coded.length - given).toBeLessThan(2); // all were asked for before, and one was begun
          if (before !== memory.bytes) [idle, before, given] = [0, memory.bytes, coded.length];
          for (const [at, { answer, coding, decode }] of asked.entries()) {
            if (chosen[at] === answer) continue;
            expect(chosen[at]?.etag).toBe(answer.etag.replace(/"$/, `-${coding}"`));
            expect(decode(bytesOf(chosen[at] as Answer)).equals(bytesOf(answer))).toBe(true);
          }
          await turn();
        }
      }),
      { numRuns: 20 },
    );
  });
});
