import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { createLog } from '../telemetry/log.js';
import { Followed, type Reading, RefusedSnapshot } from './followed.js';

type Answer = (reading: Reading<string> | Error) => void;

/** A topic whose readings end when the test says so. */
function followed() {
  const pending: Answer[] = [];
  const arrived: (() => void)[] = [];
  const subject = new Followed<string>(
    'codes',
    () =>
      new Promise((resolve, reject) => {
        pending.push((reading) => (reading instanceof Error ? reject(reading) : resolve(reading)));
        arrived.shift()?.();
      }),
    createLog('silent'),
  );
  const next = async (): Promise<Answer> => {
    if (pending.length === 0) await new Promise<void>((resolve) => void arrived.push(resolve));
    return pending.shift() as Answer;
  };
  return { subject, next, pending };
}

describe('Followed', () => {
  it('reads once more when a change is announced during a reading', async () => {
    const { subject, next } = followed();
    subject.announce('1');
    const first = await next();
    subject.announce('2');
    first({ revision: '1', value: 'old' });
    const second = await next();
    expect(subject.current).toBe('old');
    second({ revision: '2', value: 'new' });
    await turn();
    expect(subject.current).toBe('new');
  });

  it('reads the mend that is announced while what it mends is being refused', async () => {
    const { subject, next } = followed();
    subject.announce('1');
    const bad = await next();
    subject.announce('2');
    bad(new RefusedSnapshot('a duplicate'));
    (await next())({ revision: '2', value: 'mended' });
    await turn();
    expect(subject.current).toBe('mended');
  });

  it('does not read again what it refused, until something changes', async () => {
    const { subject, next, pending } = followed();
    subject.announce('1');
    (await next())(new RefusedSnapshot('a duplicate'));
    await turn();
    subject.announce('1');
    await turn();
    expect(pending).toEqual([]);
    subject.announce('2');
    (await next())({ revision: '2', value: 'mended' });
    await turn();
    expect(subject.current).toBe('mended');
  });
});
