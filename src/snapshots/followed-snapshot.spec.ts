import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { createLog } from '../telemetry/log.js';
import { Metrics } from '../telemetry/metrics.js';
import { Tracing } from '../telemetry/tracing.js';
import type { Identity } from './content-identity.js';
import { FollowedSnapshot, type Reading } from './followed-snapshot.js';
import { RefusedSnapshot } from './refused-snapshot.js';

type Answer = (reading: Reading<string> | Error) => void;

const identity = (number: number, state = 'as migrated'): Identity => ({
  topic: 'codes',
  transactions: String(number),
  stamps: String(number * 31),
  state,
});

/** A topic whose readings end when the test says so. */
function followed() {
  const pending: Answer[] = [];
  const arrived: (() => void)[] = [];
  const formers: (string | undefined)[] = [];
  const failures: unknown[] = [];
  const metrics = new Metrics();
  const subject = new FollowedSnapshot<string>(
    'codes',
    {
      read: (former) =>
        new Promise((resolve, reject) => {
          formers.push(former);
          pending.push((reading) =>
            reading instanceof Error ? reject(reading) : resolve(reading),
          );
          arrived.shift()?.();
        }),
      isEqual: (one, other) => one === other,
    },
    createLog('silent'),
    metrics,
    new Tracing(),
    () => failures.push('failed'),
  );
  const next = async (): Promise<Answer> => {
    if (pending.length === 0) await new Promise<void>((resolve) => void arrived.push(resolve));
    return pending.shift() as Answer;
  };
  const unrecorded = async (): Promise<number> =>
    (await metrics.unrecordedChanges.get()).values.reduce((sum, { value }) => sum + value, 0);
  return { subject, next, pending, formers, failures, unrecorded };
}

describe('FollowedSnapshot', () => {
  afterEach(() => void jest.useRealTimers());

  it('reads once more when a change is announced during a reading', async () => {
    const { subject, next } = followed();
    subject.announce(identity(1));
    const first = await next();
    subject.announce(identity(2));
    first({ identity: identity(1), value: 'old' });
    const second = await next();
    expect(subject.current).toBe('old');
    second({ identity: identity(2), value: 'new' });
    await turn();
    expect(subject.current).toBe('new');
  });

  it('reads a correction that is announced while the fault that it corrects is being refused', async () => {
    const { subject, next } = followed();
    subject.announce(identity(1));
    const bad = await next();
    subject.announce(identity(2));
    bad(new RefusedSnapshot('a duplicate'));
    (await next())({ identity: identity(2), value: 'corrected' });
    await turn();
    expect(subject.current).toBe('corrected');
  });

  it('does not read again what it refused, until something changes', async () => {
    const { subject, next, pending } = followed();
    subject.announce(identity(1));
    (await next())(new RefusedSnapshot('a duplicate'));
    await turn();
    subject.announce(identity(1));
    await turn();
    expect(pending).toEqual([]);
    subject.announce(identity(2));
    (await next())({ identity: identity(2), value: 'corrected' });
    await turn();
    expect(subject.current).toBe('corrected');
  });

  it('serves a restored value, with its age, until it has read everything', async () => {
    const { subject, next, formers } = followed();
    subject.restore('restored', 100);
    expect([subject.current, subject.isRestored]).toEqual(['restored', true]);
    expect(subject.age).toBeGreaterThanOrEqual(100);
    subject.announce(identity(1));
    const first = await next();
    expect(subject.age).toBeGreaterThanOrEqual(100);
    first({ identity: identity(1), value: 'read' });
    await turn();
    expect([subject.current, subject.isRestored]).toEqual(['read', false]);
    expect(subject.age).toBeLessThan(100);
    subject.restore('too late', 0);
    expect(subject.current).toBe('read');
    expect(formers).toEqual([undefined]);
  });

  it('continues to serve a restored value while the committed one is refused, and logs that', async () => {
    const { subject, next, failures } = followed();
    subject.announce(identity(1));
    (await next())(new RefusedSnapshot('a duplicate'));
    await turn();
    expect(failures).toHaveLength(1);
    subject.restore('restored', Infinity);
    subject.announce(identity(1));
    expect([subject.current, subject.age]).toEqual(['restored', Infinity]);
  });

  it('reads again whatever differs: fewer transactions, other stamps, another state', async () => {
    const { subject, next } = followed();
    for (const [value, seen] of [
      ['first', identity(5)],
      ['restored', identity(3)],
      ['other stamps', { ...identity(3), stamps: '7' }],
      ['other state', { ...identity(3), stamps: '7', state: 'triggers switched' }],
    ] as const) {
      subject.announce(seen);
      (await next())({ identity: seen, value });
      await turn();
      expect(subject.current).toBe(value);
    }
  });

  it('reads everything anew within an hour, and counts what changed without a record', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    const { subject, next, pending, formers, unrecorded } = followed();
    subject.announce(identity(1));
    (await next())({ identity: identity(1), value: 'first' });
    await turn();
    const before = await unrecorded();
    for (const [value, counted] of [
      ['first', 0],
      ['changed behind its back', 1],
    ] as const) {
      jest.advanceTimersByTime(44 * 60_000);
      subject.announce(identity(1));
      await turn();
      expect(pending).toEqual([]);
      jest.advanceTimersByTime(16 * 60_000);
      subject.announce(identity(1));
      (await next())({ identity: identity(1), value });
      await turn();
      await turn();
      expect(subject.current).toBe(value);
      expect((await unrecorded()) - before).toBe(counted);
    }
    expect(formers).toEqual([undefined, undefined, undefined]);
  });
});
