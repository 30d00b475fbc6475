import { Inject, Injectable } from '@nestjs/common';
import { DatabaseClock } from '../database/database-clock.js';
import type { Answer } from '../http/answer.js';
import { Problem, retryAfter } from '../problems/problem.js';
import type { FollowedSnapshot, Reading } from '../snapshots/followed-snapshot.js';
import { SnapshotsService } from '../snapshots/snapshots.service.js';
import { LOG, type Log } from '../telemetry/log.js';
import { Metrics, measureOnScrape } from '../telemetry/metrics.js';
import { CodesReader } from './codes.reader.js';
import { CodesSnapshot } from './codes-snapshot.js';
import { CodesTimeline } from './codes-timeline.js';
import type { Horizon } from './communication-codes/changed-records.reader.js';
import type { Filters } from './communication-codes/filters.js';
import type { Area } from './supported-values/supported-values.js';

/** How often the clock is checked while a moment lies ahead: the clock may be set, and the machine may sleep. */
const RECHECK_MS = 5_000;
const UNREAD = 'The codes have not been read from the database yet.';

/** What was read, with what the next reading needs to build on it. */
interface Codes {
  readonly timeline: CodesTimeline;
  /** Undefined if it was not read from the database. */
  readonly horizon?: Horizon;
}

/** The current codes. Each call uses one snapshot. */
@Injectable()
export class CodesService {
  readonly followed: FollowedSnapshot<Codes>;
  private timer: NodeJS.Timeout | undefined;
  private lastMoment = -Infinity;
  private announced: number | undefined;

  constructor(
    private readonly reader: CodesReader,
    private readonly clock: DatabaseClock,
    snapshots: SnapshotsService,
    @Inject(LOG) private readonly log: Log,
    private readonly metrics: Metrics,
  ) {
    this.followed = snapshots.follow('codes', {
      read: (former) => this.read(former),
      isStale: ({ timeline }) => timeline.isAhead,
      isEqual,
    });
    const { communicationCodes } = metrics;
    measureOnScrape(communicationCodes, () => communicationCodes.set(this.count));
  }

  supportedValues(area: Area): Answer {
    return this.snapshot.supportedValues[area];
  }

  communicationCodes(filters: Filters): Answer | Promise<Answer> {
    return this.snapshot.communicationCodes.find(filters);
  }

  get count(): number {
    return this.followed.current?.timeline.current.communicationCodes.count ?? 0;
  }

  /** Why nothing can be answered now, or undefined. */
  get obstacle(): string | undefined {
    return this.followed.current ? undefined : UNREAD;
  }

  private get snapshot(): CodesSnapshot {
    const { current } = this.followed;
    if (!current) throw new Problem('not-ready', { detail: UNREAD, headers: retryAfter(2) });
    return current.timeline.current;
  }

  private async read(former: Codes | undefined): Promise<Reading<Codes>> {
    const reading = await this.reader.read(former?.horizon);
    const timeline =
      'everything' in reading
        ? new CodesTimeline(reading.everything, this.clock, this.switched)
        : await (former as Codes).timeline.with(reading.changes);
    await timeline.prepare();
    setImmediate(() => void this.follow());
    return { identity: reading.horizon, value: { timeline, horizon: reading.horizon } };
  }

  /**
   * Serves codes of an earlier reading until the database is read.
   * @param age seconds since the database confirmed them
   */
  async restore(snapshot: CodesSnapshot, age: number): Promise<void> {
    const timeline = new CodesTimeline(snapshot, this.clock, this.switched);
    await timeline.prepare();
    this.followed.restore({ timeline }, age);
    await this.follow();
  }

  /** Prepares the next snapshots, and sets a timer for the next time that something has to be done. Without moments there is no timer. */
  private async follow(): Promise<void> {
    const timeline = this.followed.current?.timeline;
    if (!timeline) return;
    await timeline.prepare();
    this.announceNext(timeline.current.until);
    clearTimeout(this.timer);
    const { idleFor } = timeline;
    if (idleFor < Infinity)
      this.timer = setTimeout(() => void this.follow(), Math.min(idleFor, RECHECK_MS)).unref();
  }

  private readonly switched = (moment: number): void => {
    if (moment <= this.lastMoment) return; // a timeline of a later reading passes the same moment
    this.lastMoment = moment;
    const late = this.clock.now() - moment;
    this.metrics.momentsSwitched.inc();
    this.metrics.momentLateness.set(late / 1000);
    this.log.info({ moment: iso(moment), lateMs: Math.round(late) }, 'moment: switched');
  };

  private announceNext(moment: number): void {
    if (moment === this.announced) return;
    this.announced = moment;
    this.metrics.nextMoment.set(moment < Infinity ? moment / 1000 : 0);
    if (moment < Infinity) this.log.info({ moment: iso(moment) }, 'moment: the next');
  }
}

const iso = (moment: number): string => new Date(moment).toISOString();

async function isEqual(one: Codes, other: Codes): Promise<boolean> {
  const tags = async ({ timeline }: Codes): Promise<string> => {
    const { supportedValues, communicationCodes: codes } = timeline.current;
    const answers = [...Object.values(supportedValues), await codes.find({})];
    return answers.map(({ etag }) => etag).join();
  };
  return (await tags(one)) === (await tags(other));
}
