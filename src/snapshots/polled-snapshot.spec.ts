import { expect, it } from '@jest/globals';
import { type Content, PolledSnapshot, type SnapshotState } from './polled-snapshot.js';

type StateName = SnapshotState<string>['name'];

/** What can happen to a snapshot. A stamp is named after the content that the database holds with it. */
const EVENTS = {
  'the database fails': (snapshot: Snapshot) => snapshot.databaseFailed(),
  'names A': (snapshot: Snapshot) => snapshot.stampNamed({ stamp: 'A', askedAtMs: 1 }),
  'names B': (snapshot: Snapshot) => snapshot.stampNamed({ stamp: 'B', askedAtMs: 2 }),
  'A is read': (snapshot: Snapshot) => snapshot.contentRead('a', { stamp: 'A', askedAtMs: 3 }),
  'B is read': (snapshot: Snapshot) => snapshot.contentRead('b', { stamp: 'B', askedAtMs: 4 }),
  'A is refused': (snapshot: Snapshot) => snapshot.contentRefused({ stamp: 'A', reason: 'A!' }),
  'B is refused': (snapshot: Snapshot) => snapshot.contentRefused({ stamp: 'B', reason: 'B!' }),
  'A is restored': (snapshot: Snapshot) => void snapshot.restore(KEPT),
  'B is restored': (snapshot: Snapshot) => void snapshot.restore({ ...KEPT, stamp: 'B' }),
} as const;

type Snapshot = PolledSnapshot<string>;
type Event = keyof typeof EVENTS;

const KEPT: Content<string> = { value: 'kept a', stamp: 'A', confirmedAtMs: -9, servedSinceMs: 0 };

/** How each state is reached. */
const ARRIVALS = {
  'never-asked': [],
  unreachable: ['the database fails'],
  unread: ['names A'],
  restored: ['A is restored'],
  current: ['names A', 'A is read'],
  outdated: ['names A', 'A is read', 'names B'],
  'refused, nothing served': ['names A', 'A is refused'],
  'refused, A served': ['names A', 'A is read', 'names B', 'B is refused'],
  'refused under the stamp that is served': ['names A', 'A is read', 'A is refused'],
} as const satisfies Record<string, readonly Event[]>;

interface Transition {
  readonly from: keyof typeof ARRIVALS;
  readonly event: Event;
  readonly to: StateName;
  readonly serves: string | undefined;
}

const transition = (
  from: Transition['from'],
  event: Event,
  to: StateName,
  serves: string | undefined,
): Transition => ({ from, event, to, serves });

/** Each line is one of the table in docs/how-it-works.md, for one of its states. */
const TRANSITIONS: readonly Transition[] = [
  transition('never-asked', 'the database fails', 'unreachable', undefined),
  transition('never-asked', 'names A', 'unread', undefined),
  transition('never-asked', 'A is restored', 'restored', 'kept a'),

  transition('unreachable', 'the database fails', 'unreachable', undefined),
  transition('unreachable', 'names A', 'unread', undefined),
  transition('unreachable', 'A is restored', 'restored', 'kept a'),

  transition('unread', 'the database fails', 'unread', undefined),
  transition('unread', 'names B', 'unread', undefined),
  transition('unread', 'A is read', 'current', 'a'),
  transition('unread', 'A is refused', 'refused', undefined),
  transition('unread', 'A is restored', 'current', 'kept a'),
  transition('unread', 'B is restored', 'unread', undefined),

  transition('restored', 'the database fails', 'restored', 'kept a'),
  transition('restored', 'names A', 'current', 'kept a'),
  transition('restored', 'names B', 'unread', undefined),

  transition('current', 'the database fails', 'current', 'a'),
  transition('current', 'names A', 'current', 'a'),
  transition('current', 'names B', 'outdated', 'a'),
  transition('current', 'A is read', 'current', 'a'),
  transition('current', 'B is read', 'current', 'b'),
  transition('current', 'A is refused', 'refused', 'a'),
  transition('current', 'A is restored', 'current', 'a'),

  transition('outdated', 'the database fails', 'outdated', 'a'),
  transition('outdated', 'names A', 'current', 'a'),
  transition('outdated', 'names B', 'outdated', 'a'),
  transition('outdated', 'B is read', 'current', 'b'),
  transition('outdated', 'B is refused', 'refused', 'a'),
  transition('outdated', 'A is restored', 'outdated', 'a'),

  transition('refused, nothing served', 'the database fails', 'refused', undefined),
  transition('refused, nothing served', 'names A', 'refused', undefined),
  transition('refused, nothing served', 'names B', 'unread', undefined),
  transition('refused, nothing served', 'A is read', 'current', 'a'),
  transition('refused, nothing served', 'A is restored', 'refused', undefined),

  transition('refused, A served', 'the database fails', 'refused', 'a'),
  transition('refused, A served', 'names B', 'refused', 'a'),
  transition('refused, A served', 'names A', 'current', 'a'),
  transition('refused, A served', 'B is read', 'current', 'b'),
  transition('refused, A served', 'A is restored', 'refused', 'a'),

  transition('refused under the stamp that is served', 'names A', 'refused', 'a'),
  transition('refused under the stamp that is served', 'names B', 'outdated', 'a'),
  transition('refused under the stamp that is served', 'A is read', 'current', 'a'),
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

const NOT_NAMED: readonly (keyof typeof ARRIVALS)[] = ['never-asked', 'unreachable', 'restored'];
const READINGS: readonly Event[] = ['A is read', 'A is refused'];
it.each(NOT_NAMED.flatMap((from) => READINGS.map((event) => ({ from, event }))))(
  '$from: that $event before its stamp was named is a fault of the program',
  ({ from, event }) => {
    const snapshot = reach(from);
    expect(() => EVENTS[event](snapshot)).toThrow(`in the state ${from}`);
    expect(snapshot.state.name).toBe(from);
  },
);

it('wants a reading if the database holds what was not read, but does not read refused content again', () => {
  const wanting = Object.keys(ARRIVALS).filter(
    (from) => reach(from as keyof typeof ARRIVALS).needsReading,
  );
  expect(wanting).toEqual(['unread', 'outdated']);
});

it('is as old as the last word of the database on what is served', () => {
  const confirmedAtMs = (from: keyof typeof ARRIVALS, ...events: Event[]): number | undefined => {
    const snapshot = reach(from);
    for (const event of events) EVENTS[event](snapshot);
    return snapshot.content?.confirmedAtMs;
  };
  expect(confirmedAtMs('restored')).toBe(KEPT.confirmedAtMs);
  expect(confirmedAtMs('restored', 'the database fails')).toBe(KEPT.confirmedAtMs);
  expect(confirmedAtMs('restored', 'names A')).toBe(1);
  expect(confirmedAtMs('unread', 'A is restored')).toBe(1);
  expect(confirmedAtMs('current')).toBe(3);
  expect(confirmedAtMs('current', 'names B')).toBe(3);
  expect(confirmedAtMs('current', 'B is read')).toBe(4);
  expect(confirmedAtMs('refused, A served')).toBe(3);
  expect(confirmedAtMs('refused, A served', 'names B')).toBe(3);
  expect(confirmedAtMs('refused, A served', 'names A')).toBe(1);
  expect(confirmedAtMs('refused under the stamp that is served', 'names A')).toBe(3);
  expect(reach('never-asked').ageSeconds).toBe(Infinity);
  expect(reach('current').ageSeconds).toBeCloseTo((performance.now() - 3) / 1000, 1);
});

it('says why content is refused, and no longer when it is served or another one is named', () => {
  const reason = (from: keyof typeof ARRIVALS, event: Event): string | undefined => {
    const snapshot = reach(from);
    EVENTS[event](snapshot);
    return snapshot.refusalReason;
  };
  expect(reason('outdated', 'B is refused')).toBe('B!');
  expect(reason('refused, A served', 'names B')).toBe('B!');
  expect(reason('refused, A served', 'names A')).toBeUndefined();
  expect(reason('refused, A served', 'B is read')).toBeUndefined();
  expect(reason('refused under the stamp that is served', 'names A')).toBe('A!');
  expect(reason('refused under the stamp that is served', 'names B')).toBeUndefined();
});

it('is served since the first time, however often it is read under the same stamp', () => {
  const snapshot = reach('restored');
  EVENTS['names A'](snapshot);
  EVENTS['A is read'](snapshot);
  expect(snapshot.servedSinceMs).toBe(KEPT.servedSinceMs);
  EVENTS['B is read'](snapshot);
  expect(snapshot.servedSinceMs).toBeGreaterThan(KEPT.servedSinceMs);
});
