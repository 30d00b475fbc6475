import { describe, expect, it } from '@jest/globals';
import { ConcurrencyLimit } from './concurrency-limit.js';

/** Work that ends when the test says so. */
function work(turns: ConcurrencyLimit) {
  const events: string[] = [];
  const ends = new Map<string, (error?: Error) => void>();
  const start = (name: string): Promise<void> =>
    turns.take(() => {
      events.push(name);
      return new Promise(
        (resolve, reject) => void ends.set(name, (error) => (error ? reject(error) : resolve())),
      );
    });
  return { events, start, end: (name: string, error?: Error): void => ends.get(name)?.(error) };
}

describe('ConcurrencyLimit', () => {
  it('lets two run at a time, and the others in their order', async () => {
    const { events, start, end } = work(new ConcurrencyLimit(2, 10));
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(start);
    expect(events).toEqual(['a', 'b']);
    end('b');
    await b;
    expect(events).toEqual(['a', 'b', 'c']);
    end('a');
    end('c');
    await Promise.all([a, c]);
    end('d');
    await d;
    expect(events).toEqual(['a', 'b', 'c', 'd']);
  });

  it('continues after a task that failed', async () => {
    const { events, start, end } = work(new ConcurrencyLimit(1, 10));
    const failing = start('a');
    const next = start('b');
    end('a', new Error('no'));
    await expect(failing).rejects.toThrow('no');
    end('b');
    await next;
    const last = start('c');
    expect(events).toEqual(['a', 'b', 'c']);
    end('c');
    await last;
  });

  it('is full when as many wait as may', async () => {
    const turns = new ConcurrencyLimit(1, 1);
    const { start, end } = work(turns);
    const first = start('a');
    expect(turns.isFull).toBe(false);
    const second = start('b');
    expect(turns.isFull).toBe(true);
    end('a');
    await first;
    expect(turns.isFull).toBe(false);
    end('b');
    await second;
  });
});
