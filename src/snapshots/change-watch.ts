// A separate session asks for the identities of the content and for the time of the database: every few seconds, and at once after a
// notification. A notification only wakes it; what changed is read from the database. From time to time a notification that another session
// sends proves that they arrive. Where they do not arrive (behind a pooler, on a hot standby), it asks twice a second.
import { randomUUID } from 'node:crypto';
import type { QueryResult } from 'pg';
import type { DataSource } from 'typeorm';
import type { Connections } from '../database/connections.js';
import type { DatabaseClock } from '../database/database-clock.js';
import { readTransaction } from '../database/read-transaction.js';
import {
  BEGIN_READING,
  SERVER_QUERY,
  type ServerFacts,
  type Session,
  assertSupported,
} from '../database/session.js';
import type { Log } from '../telemetry/log.js';
import type { Metrics } from '../telemetry/metrics.js';
import { RepeatedFailure } from '../telemetry/repeated-failure.js';
import { IDENTITIES, type Identity } from './content-identity.js';

const CHANNEL = 'order_lookup_changed';
const NOTIFIED_PAUSE_MS = 4_000;
const UNNOTIFIED_PAUSE_MS = 500;
/** Least time between two queries, so that many changes cause only a few queries a second. */
const SPACING_MS = 50;
const ANSWER_MS = 3_000;
const RECONNECT_MS = 250;
/** How often the arrival of notifications is proved, and how long one may take. */
const PROOF_EVERY_MS = 20_000;
const PROOF_MS = 2_000;

/** Facts that are read each time. `time` is the time at which the server answers. */
const FACTS = `select (select string_agg(table_name, ', ' order by table_name) from record_gap) as gaps, pg_is_in_recovery() as standby,
  pg_backend_pid() as pid, (extract(epoch from clock_timestamp()) * 1000)::float8 as time`;

interface Facts {
  readonly gaps: string | null;
  readonly standby: boolean;
  readonly pid: number;
  readonly time: number;
}

export class ChangeWatch {
  private readonly failure: RepeatedFailure;
  private stopped = false;
  private running: Promise<void> | undefined;
  private session: Session | undefined;
  private wake: () => void = () => undefined;
  /** Why no notifications arrive, or undefined if they do. */
  private deaf: string | undefined = 'not connected yet';
  private gaps: string | null = null;
  private heard: (payload: string) => void = () => undefined;

  constructor(
    private readonly connections: Connections,
    private readonly dataSource: DataSource,
    private readonly clock: DatabaseClock,
    private readonly announce: (identity: Identity, askedAt: number) => void,
    /** Called when a session failed. */
    private readonly failed: () => void,
    private readonly log: Log,
    private readonly metrics: Metrics,
  ) {
    this.failure = new RepeatedFailure(log, 'database');
  }

  start(): void {
    this.running ??= this.run();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.wake();
    this.session?.destroy();
    await this.running;
  }

  private async run(): Promise<void> {
    while (!this.stopped) {
      const session = this.connections.session({
        query_timeout: ANSWER_MS,
      });
      this.session = session;
      const state = { ended: false, changed: false, proveAt: 0 };
      const wake = (): void => {
        if (this.session === session) this.wake(); // events of a session that was given up must not shorten the pause before the next one
      };
      session.on('notification', ({ payload = '' }) => {
        this.heard(payload);
        if (payload !== 'codes' && payload !== 'keys') return;
        state.changed = true;
        wake();
      });
      session.once('end', () => {
        state.ended = true;
        wake();
      });
      try {
        await session.connect();
        await this.watch(session, state);
      } catch (error) {
        if (!this.stopped) this.failure.failed(error);
        this.failed();
        if (!state.ended) this.connections.cut();
      }
      this.session = undefined;
      session.destroy();
      this.metrics.databaseUp.set(0);
      this.metrics.listenerUp.set(0);
      if (!this.stopped) await this.pause(RECONNECT_MS);
    }
  }

  private async watch(
    session: Session,
    state: { ended: boolean; changed: boolean; proveAt: number },
  ): Promise<void> {
    const { rows } = await session.query<ServerFacts>(SERVER_QUERY);
    assertSupported(rows[0]);
    let listens = false;
    while (!state.ended && !this.stopped) {
      state.changed = false;
      const { standby, pid } = await this.ask(session);
      // Behind a pooler the process id differs, and LISTEN would remain set in a session that another client uses next
      if (standby) this.tell('the database is a hot standby');
      else if (pid !== (session as unknown as { processID: number }).processID)
        this.tell('a pooler is between the service and the database');
      else if (!listens) {
        await session.query(`listen ${CHANNEL}`);
        listens = true;
        continue; // changes that were committed before LISTEN were not announced
      } else if (performance.now() >= state.proveAt) {
        state.proveAt = performance.now() + PROOF_EVERY_MS;
        void this.prove();
      }
      if (state.changed) await this.pause(SPACING_MS);
      else await this.pause(this.deaf === undefined ? NOTIFIED_PAUSE_MS : UNNOTIFIED_PAUSE_MS);
    }
    if (!this.stopped) throw new Error('the connection was closed');
  }

  private async ask(session: Session): Promise<Facts> {
    const askedAt = performance.now();
    const results = (await session.query(
      `${BEGIN_READING}; ${IDENTITIES}; ${FACTS}; commit`,
    )) as unknown as QueryResult[];
    const [identities, [facts]] = results.slice(-3, -1).map(({ rows }) => rows as unknown[]) as [
      Identity[],
      [Facts],
    ];
    this.clock.measured(facts.time, askedAt);
    this.failure.succeeded();
    this.metrics.databaseUp.set(1);
    this.metrics.recordGaps.set(facts.gaps?.split(', ').length ?? 0);
    if (facts.gaps !== null && facts.gaps !== this.gaps)
      this.log.warn(
        { tables: facts.gaps },
        'database: the record of changes may have a gap: triggers were switched off, a table was rewritten, or history was deleted',
      );
    this.gaps = facts.gaps;
    for (const identity of identities) this.announce(identity, askedAt);
    return facts;
  }

  /** Sends a notification through another session and waits for it. */
  private async prove(): Promise<void> {
    const proof = randomUUID();
    let timer: NodeJS.Timeout | undefined;
    const arrived = new Promise<boolean>((resolve) => {
      this.heard = (payload) => payload === proof && resolve(true);
      timer = setTimeout(resolve, PROOF_MS, false).unref();
    });
    try {
      await readTransaction(this.dataSource, (manager) =>
        manager.query('select pg_notify($1, $2)', [CHANNEL, proof]),
      );
      this.tell((await arrived) ? undefined : 'a notification that was sent did not arrive');
    } catch {
      // the database is away: the session of the watch reports it
    } finally {
      clearTimeout(timer);
    }
  }

  private tell(deaf: string | undefined): void {
    this.metrics.listenerUp.set(deaf === undefined ? 1 : 0);
    if (deaf === this.deaf) return;
    this.deaf = deaf;
    if (deaf === undefined) this.log.info('database: notifications of changes arrive');
    else
      this.log.warn(
        { reason: deaf },
        'database: notifications of changes do not arrive: the service asks for changes twice a second',
      );
  }

  private async pause(milliseconds: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.wake = () => undefined;
  }
}
