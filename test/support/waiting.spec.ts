import { expect, it } from '@jest/globals';
import { until } from './until.js';
import { limitWait } from './waiting.js';

const NEVER = (): Promise<never> => new Promise(() => undefined);

it('a wait that is late says for what it waits, and from which line', async () => {
  const said = await new Promise<string>((resolve) => {
    limitWait('the first answer', NEVER, { afterMs: 1, say: resolve, limitMs: 50 }).catch(() => undefined);
  });
  expect(said).toMatch(/^\nStill waiting after 0\.001 s, waiting\.spec\.ts:\d+: the first answer\n$/);
});

it('a wait that ends in time says nothing, and gives its result', async () => {
  const texts: string[] = [];
  const say = (text: string): void => void texts.push(text);
  await expect(limitWait('a', async () => 1, { afterMs: 1, say })).resolves.toBe(1);
  await expect(limitWait('b', async () => Promise.reject(new Error('ended')), { afterMs: 1, say })).rejects.toThrow(
    'ended',
  );
  // The timer of c starts later and is longer. So if a timer of a or b still ran, it would end before the timer of c
  await new Promise<void>((resolve) => {
    limitWait('c', NEVER, { afterMs: 2, say: () => resolve(), limitMs: 50 }).catch(() => undefined);
  });
  expect(texts).toEqual([]);
});

it('a wait with a limit fails after this limit, and says which condition is not true', async () => {
  const waiting = until(async () => false, { what: () => 'the service is ready', limitMs: 1 });
  await expect(waiting).rejects.toThrow(/^Not within 0\.001 s, waiting\.spec\.ts:\d+: the service is ready$/);
  const failing = until(() => Promise.reject(new Error('no port')), { what: () => 'it listens', limitMs: 1 });
  await expect(failing).rejects.toThrow(/^Not within 0\.001 s, .*: it listens\nThe last check failed: Error: no port/);
});

it('a wait for an event fails after its limit, and says what never came', async () => {
  const waiting = limitWait('a line of the log', NEVER, { limitMs: 1 });
  await expect(waiting).rejects.toThrow(/^Not within 0\.001 s, waiting\.spec\.ts:\d+: a line of the log$/);
});

it('a wait with the option `during` fails if the work ends before the condition is true', async () => {
  const waiting = until(async () => false, { what: () => 'it asks', during: Promise.resolve({ status: 1 }) });
  await expect(waiting).rejects.toThrow('The work has ended, and this never was true: it asks\n{ status: 1 }');
  const failing = until(async () => false, { what: () => 'it asks', during: Promise.reject(new Error('no')) });
  await expect(failing).rejects.toThrow(/never was true: it asks\nError: no/);
});

it('a wait that compares values shows the difference once', async () => {
  const compare = async (): Promise<boolean> => {
    expect('served').toBe('written');
    return true;
  };
  const message = await until(compare, { what: () => 'the codes are equal', limitMs: 1 }).catch(String);
  expect(String(message).match(/"written"/g)).toHaveLength(1);
});
