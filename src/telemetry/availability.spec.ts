import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Availability } from './availability.js';

describe('Availability', () => {
  beforeEach(() => void jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] }));
  afterEach(() => void jest.useRealTimers());

  const absent = async (work: (subject: Availability) => void): Promise<boolean> => {
    const subject = new Availability();
    let isAbsent = false;
    void subject.absence.then(() => (isAbsent = true));
    subject.expect();
    work(subject);
    await turn();
    return isAbsent;
  };

  it.each<[string, boolean, (subject: Availability) => void]>([
    ['nothing was heard for a short time', false, () => jest.advanceTimersByTime(700)],
    ['nothing was heard for 0.75 s', true, () => jest.advanceTimersByTime(750)],
    ['it failed', true, (subject) => subject.failed()],
    [
      'it answered, however long ago',
      false,
      (subject) => {
        subject.answered();
        jest.advanceTimersByTime(60_000);
      },
    ],
    [
      'it answered and failed later',
      true,
      (subject) => {
        subject.answered();
        subject.failed();
      },
    ],
  ])('where %s: absent is %s', async (_, expected, work) => {
    expect(await absent(work)).toBe(expected);
  });
});
