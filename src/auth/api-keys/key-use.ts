import {
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { DatabaseSessions } from '../../database/database-sessions.js';
import { RepeatedFailure } from '../../telemetry/repeated-failure.js';
import { ServiceLogger } from '../../telemetry/service-logger.js';
import { wait } from '../../timers/wait.js';

/** A key that is used all the time is noted once in this time. */
const REMEMBER_INTERVAL_MS = 60_000;
/** Keys that are first used within this time are written together. */
const WRITE_INTERVAL_MS = 1_000;
/** A lock on the table of uses may be held for hours. */
const BEGIN_WRITING = `begin; set local statement_timeout = '1s'`;
/** A hot standby takes no writes. */
const NOTE_KEY_USE = `select public.note_key_use($1::uuid[])
  from (select pg_catalog.pg_is_in_recovery() as is_standby) as server where not is_standby`;

/** Notes in the database when keys were last used. Nothing waits for it: what cannot be written is dropped. */
@Injectable()
export class KeyUse implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly notedKeyIds = new Set<string>();
  private unwrittenKeyIds: string[] = [];
  private forgetTimer: NodeJS.Timeout | undefined;
  private readonly stopping = new AbortController();
  private readonly failure: RepeatedFailure;

  constructor(
    private readonly sessions: DatabaseSessions,
    logger: ServiceLogger,
  ) {
    this.failure = new RepeatedFailure(logger, 'noting the use of API keys');
  }

  onApplicationBootstrap(): void {
    this.forgetTimer = setInterval(() => this.notedKeyIds.clear(), REMEMBER_INTERVAL_MS).unref();
    void this.run(this.stopping.signal);
  }

  onApplicationShutdown(): void {
    clearInterval(this.forgetTimer);
    this.stopping.abort();
  }

  note(keyId: string): void {
    if (this.notedKeyIds.has(keyId)) return;
    this.notedKeyIds.add(keyId);
    this.unwrittenKeyIds.push(keyId);
  }

  /** One write at a time: a second one would take the session by which revoked keys are found. */
  private async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.write();
      await wait(WRITE_INTERVAL_MS, signal);
    }
  }

  /** Never throws. */
  private async write(): Promise<void> {
    const keyIds = this.unwrittenKeyIds;
    this.unwrittenKeyIds = [];
    // While the keys are those of a file, the database has not been reached yet
    if (keyIds.length === 0 || !this.sessions.isUsable) return;
    try {
      await this.sessions.withSession((manager) => writeUses(manager, keyIds));
      this.failure.succeeded();
    } catch (error) {
      if (this.sessions.isUsable) this.failure.failed(error, { name: 'none' });
    }
  }
}

async function writeUses(manager: EntityManager, keyIds: readonly string[]): Promise<void> {
  await manager.query(BEGIN_WRITING);
  await manager.query(NOTE_KEY_USE, [keyIds]);
  await manager.query('commit'); // no rollback after an error: `withSession` closes the session
}
