import { expect, it, jest } from '@jest/globals';
import { PolledSnapshot, type SnapshotState } from './polled-snapshot.js';

type StateName = SnapshotState<string>['name'];

/** What can happen to a snapshot. A stamp is named after the content that the database holds with it. */
const EVENTS = {
  'the database fails': (snapshot: Snapshot) => snapshot.databaseFailed(),
  'names A': (snapshot: Snapshot) => snapshot.stampNamed({ stamp: 'A', askedAtMonotonicMs: 1 }),
  'names B': (snapshot: Snapshot) => snapshot.stampNamed({ stamp: 'B', askedAtMonotonicMs: 2 }),
  'A is read': (snapshot: Snapshot) => snapshot.contentRead('a', { stamp: 'A', askedAtMonotonicMs: 3 }),
  'B is read': (snapshot: Snapshot) => snapshot.contentRead('b', { stamp: 'B', askedAtMonotonicMs: 4 }),
  'A is unservable': (snapshot: Snapshot) => snapshot.contentUnservable({ stamp: 'A', reason: 'A!' }),
  'B is unservable': (snapshot: Snapshot) => snapshot.contentUnservable({ stamp: 'B', reason: 'B!' }),
} as const;

type Snapshot = PolledSnapshot<string>;
type Event = keyof typeof EVENTS;

/** How each state is reached. */
const ARRIVALS = {
  'never-asked': [],
  unreachable: ['the database fails'],
  unread: ['names A'],
  current: ['names A', 'A is read'],
  outdated: ['names A', 'A is read', 'names B'],
  unservable: ['names A', 'A is unservable'],
  'unservable-former-served': ['names A', 'A is read', 'names B', 'B is unservable'],
  'unservable under the stamp that is served': ['names A', 'A is read', 'A is unservable'],
} as const satisfies Record<string, readonly Event[]>;

interface Transition {
  readonly from: keyof typeof ARRIVALS;
  readonly event: Event;
  readonly to: StateName;
  readonly serves: string | undefined;
}

const transition = (from: Transition['from'], event: Event, to: StateName, serves: string | undefined): Transition => ({
  from,
  event,
  to,
  serves,
});

/** Each line is one of the table in docs/how-it-works.md, for one of its states. */
const TRANSITIONS: readonly Transition[] = [
  transition('never-asked', 'the database fails', 'unreachable', undefined),
  transition('never-asked', 'names A', 'unread', undefined),

  transition('unreachable', 'the database fails', 'unreachable', undefined),
  transition('unreachable', 'names A', 'unread', undefined),

  transition('unread', 'the database fails', 'unread', undefined),
  transition('unread', 'names B', 'unread', undefined),
  transition('unread', 'A is read', 'current', 'a'),
  transition('unread', 'A is unservable', 'unservable', undefined),

  transition('current', 'the database fails', 'current', 'a'),
  transition('current', 'names A', 'current', 'a'),
  transition('current', 'names B', 'outdated', 'a'),
  transition('current', 'A is read', 'current', 'a'),
  transition('current', 'B is read', 'current', 'b'),
  transition('current', 'A is unservable', 'unservable-former-served', 'a'),

  transition('outdated', 'the database fails', 'outdated', 'a'),
  transition('outdated', 'names A', 'current', 'a'),
  transition('outdated', 'names B', 'outdated', 'a'),
  transition('outdated', 'B is read', 'current', 'b'),
  transition('outdated', 'B is unservable', 'unservable-former-served', 'a'),

  transition('unservable', 'the database fails', 'unservable', undefined),
  transition('unservable', 'names A', 'unservable', undefined),
  transition('unservable', 'names B', 'unread', undefined),
  transition('unservable', 'A is read', 'current', 'a'),

  transition('unservable-former-served', 'the database fails', 'unservable-former-served', 'a'),
  transition('unservable-former-served', 'names B', 'unservable-former-served', 'a'),
  transition('unservable-former-served', 'names A', 'current', 'a'),
  transition('unservable-former-served', 'B is read', 'current', 'b'),

  transition('unservable under the stamp that is served', 'names A', 'unservable-former-served', 'a'),
  transition('unservable under the stamp that is served', 'names B', 'outdated', 'a'),
  transition('unservable under the stamp that is served', 'A is read', 'current', 'a'),
];

function reach(from: keyof typeof ARRIVALS): Snapshot {
  const snapshot = new PolledSnapshot<string>();
  for (const event of ARRIVALS[from]) EVENTS[event](snapshot);
  return snapshot;
}

it.each(TRANSITIONS)('$from: $event → $to, serves $serves', ({ from, event, to, serves }) => {
  const snapshot = reach(from);
  EVENTS[event](snapshot);
  expect(snapshot.state.name).toBe(to);
  expect(snapshot.value).toBe(serves);
});

const NOT_NAMED: readonly (keyof typeof ARRIVALS)[] = ['never-asked', 'unreachable'];
const READINGS: readonly Event[] = ['A is read', 'A is unservable'];
it.each(NOT_NAMED.flatMap((from) => READINGS.map((event) => ({ from, event }))))(
  '$from: that $event before its stamp was named is a fault of the program',
  ({ from, event }) => {
    const snapshot = reach(from);
    expect(() => EVENTS[event](snapshot)).toThrow(`in the state ${from}`);
    expect(snapshot.state.name).toBe(from);
  },
);

it('wants a reading if the database holds what was not read, but does not read unservable content again', () => {
  const wanting = Object.keys(ARRIVALS).filter((from) => reach(from as keyof typeof ARRIVALS).needsReading);
  expect(wanting).toEqual(['unread', 'outdated']);
});

it('is as old as the last word of the database on what is served', () => {
  const confirmedAtMonotonicMs = (from: keyof typeof ARRIVALS, ...events: Event[]): number | undefined => {
    const snapshot = reach(from);
    for (const event of events) EVENTS[event](snapshot);
    return snapshot.content?.confirmedAtMonotonicMs;
  };
  expect(confirmedAtMonotonicMs('current')).toBe(3);
  expect(confirmedAtMonotonicMs('current', 'names B')).toBe(3);
  expect(confirmedAtMonotonicMs('current', 'B is read')).toBe(4);
  expect(confirmedAtMonotonicMs('unservable-former-served')).toBe(3);
  expect(confirmedAtMonotonicMs('unservable-former-served', 'names B')).toBe(3);
  expect(confirmedAtMonotonicMs('unservable-former-served', 'names A')).toBe(1);
  expect(confirmedAtMonotonicMs('unservable under the stamp that is served', 'names A')).toBe(3);
  expect(reach('never-asked').ageSeconds).toBe(Infinity);
  expect(reach('current').ageSeconds).toBeCloseTo((performance.now() - 3) / 1000, 1);
});

it('says why content is unservable, and no longer when it is served or another one is named', () => {
  const reason = (from: keyof typeof ARRIVALS, event: Event): string | undefined => {
    const snapshot = reach(from);
    EVENTS[event](snapshot);
    return snapshot.unservable?.reason;
  };
  expect(reason('outdated', 'B is unservable')).toBe('B!');
  expect(reason('unservable-former-served', 'names B')).toBe('B!');
  expect(reason('unservable-former-served', 'names A')).toBeUndefined();
  expect(reason('unservable-former-served', 'B is read')).toBeUndefined();
  expect(reason('unservable under the stamp that is served', 'names A')).toBe('A!');
  expect(reason('unservable under the stamp that is served', 'names B')).toBeUndefined();
});

it('is served since the first time, however often it is read under the same stamp', () => {
  jest.useFakeTimers({ now: 1_000 });
  const snapshot = reach('current');
  jest.setSystemTime(2_000);
  EVENTS['A is read'](snapshot);
  expect(snapshot.servedSinceEpochMs).toBe(1_000);
  EVENTS['B is read'](snapshot);
  expect(snapshot.servedSinceEpochMs).toBe(2_000);
  jest.useRealTimers();
});
