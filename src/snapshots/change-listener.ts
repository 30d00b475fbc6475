// One connection of its own listens for changes and keeps itself honest: a heartbeat asks for the revisions and whether the connection is
// still registered, so that a lost notification, a swallowed connection or a pooler that forgets LISTEN costs five seconds, not for ever.
// Notifications only wake it up: what changed is always asked from the database.
import { Client, type QueryResult } from 'pg';
import type { DatabaseClock } from '../database/database-clock.js';
import type { Log } from '../telemetry/log.js';
import { databaseUp, listenerUp } from '../telemetry/metrics.js';
import { RepeatedFailure } from '../telemetry/repeated-failure.js';
import { IDENTITY_COLUMNS, type Identity, type Topic, revisionOf } from './read-revision.js';
import {
  SESSION_LIMITS,
  SERVER_QUERY,
  type ServerFacts,
  assertSupported,
  clientOptions,
  destroyClient,
} from '../database/session.js';

export const CHANNEL = 'order_lookup_changed';
const HEARTBEAT_MS = 4_000;
const HEARTBEAT_TIMEOUT_MS = 4_000;
const RECONNECT_MS = 500;

export interface Follower {
  /** The database answers anew after it was away: whatever was read before counts as old. */
  reconnected(): void;
  /** The revision of the topic that is committed now. */
  announce(topic: Topic, revision: string): void;
}

type Heartbeat = Identity & {
  readonly listening: boolean;
  /** By the database's clock, in milliseconds since the epoch. */
  readonly time: number;
};

export class ChangeListener {
  private readonly failure: RepeatedFailure;
  private stopped = false;
  private running: Promise<void> | undefined;
  private wake: () => void = () => undefined;
  private client: Client | undefined;

  constructor(
    private readonly databaseUrl: string,
    private readonly follower: Follower,
    private readonly clock: DatabaseClock,
    private readonly log: Log,
  ) {
    this.failure = new RepeatedFailure(log, 'database');
  }

  start(): void {
    this.running ??= this.run();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.wake();
    if (this.client) destroyClient(this.client);
    await this.running;
  }

  private async run(): Promise<void> {
    while (!this.stopped) {
      try {
        await this.listen();
      } catch (error) {
        if (!this.stopped) this.failure.failed(error);
      }
      databaseUp.set(0);
      listenerUp.set(0);
      if (!this.stopped) await this.pause(RECONNECT_MS);
    }
  }

  private async listen(): Promise<void> {
    const client = new Client({
      ...clientOptions(this.databaseUrl),
      query_timeout: HEARTBEAT_TIMEOUT_MS,
    });
    this.client = client;
    const state = { ended: false, changed: false, over: false };
    const wake = (): void => {
      if (!state.over) this.wake(); // events of a connection that was given up must not cut the pause before the next
    };
    client.on('notification', () => {
      state.changed = true;
      wake();
    });
    client.on('error', wake); // the end follows
    client.on('end', () => {
      state.ended = true;
      wake();
    });
    try {
      await client.connect();
      await client.query(SESSION_LIMITS);
      const { rows } = await client.query<ServerFacts>(SERVER_QUERY);
      assertSupported(rows[0]);
      await client.query(`listen ${CHANNEL}`);
      this.follower.reconnected();
      while (!state.ended && !this.stopped) {
        state.changed = false;
        await this.beat(client);
        if (!state.changed && !state.ended) await this.pause(HEARTBEAT_MS);
      }
      if (!this.stopped) throw new Error('the connection was closed');
    } finally {
      state.over = true;
      destroyClient(client);
    }
  }

  private async beat(client: Client): Promise<void> {
    const asked = performance.now();
    const { rows }: QueryResult<Heartbeat> = await client.query<Heartbeat>(
      `select ${IDENTITY_COLUMNS}, (extract(epoch from clock_timestamp()) * 1000)::float8 as time, exists (select from pg_listening_channels() as channel where channel = '${CHANNEL}') as listening
       from content_identity`,
    );
    if (rows[0]) this.clock.measured(rows[0].time, asked);
    this.failure.succeeded();
    databaseUp.set(1);
    const listening = rows[0]?.listening === true;
    listenerUp.set(listening ? 1 : 0);
    if (!listening) {
      this.log.warn(
        'database: the connection is no longer registered for notifications; changes are found every few seconds',
      );
      await client.query(`listen ${CHANNEL}`);
    }
    for (const row of rows) this.follower.announce(row.topic, revisionOf(row));
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
