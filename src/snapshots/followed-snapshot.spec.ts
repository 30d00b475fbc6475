import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { createLog } from '../telemetry/log.js';
import { FollowedSnapshot, type Reading, RefusedSnapshot } from './followed-snapshot.js';

type Answer = (reading: Reading<string> | Error) => void;

/** A topic whose readings end when the test says so. */
function followed() {
  const pending: Answer[] = [];
  const arrived: (() => void)[] = [];
  const formers: (string | undefined)[] = [];
  const subject = new FollowedSnapshot<string>(
    'codes',
    (former) =>
      new Promise((resolve, reject) => {
        formers.push(former);
        pending.push((reading) => (reading instanceof Error ? reject(reading) : resolve(reading)));
        arrived.shift()?.();
      }),
    createLog('silent'),
  );
  const next = async (): Promise<Answer> => {
    if (pending.length === 0) await new Promise<void>((resolve) => void arrived.push(resolve));
    return pending.shift() as Answer;
  };
  return { subject, next, pending, formers };
}

describe('FollowedSnapshot', () => {
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

  it('reads everything anew when it is told so during a reading, and builds on what it has otherwise', async () => {
    const { subject, next, formers } = followed();
    subject.announce('1');
    (await next())({ revision: '1', value: 'first' });
    await turn();
    subject.announce('2');
    const second = await next();
    subject.invalidate();
    second({ revision: '2', value: 'second' });
    (await next())({ revision: '2', value: 'third' });
    await turn();
    expect(subject.current).toBe('third');
    expect(formers).toEqual([undefined, 'first', undefined]);
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
