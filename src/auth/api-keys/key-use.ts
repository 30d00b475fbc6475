import {
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { DatabaseSessions } from '../../database/database-sessions.js';

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
  private writeTimer: NodeJS.Timeout | undefined;

  constructor(private readonly sessions: DatabaseSessions) {}

  onApplicationBootstrap(): void {
    this.forgetTimer = setInterval(() => this.notedKeyIds.clear(), REMEMBER_INTERVAL_MS).unref();
    this.writeTimer = setInterval(() => void this.write(), WRITE_INTERVAL_MS).unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.forgetTimer);
    clearInterval(this.writeTimer);
  }

  note(keyId: string): void {
    if (this.notedKeyIds.has(keyId)) return;
    this.notedKeyIds.add(keyId);
    this.unwrittenKeyIds.push(keyId);
  }

  private async write(): Promise<void> {
    const keyIds = this.unwrittenKeyIds;
    this.unwrittenKeyIds = [];
    // While the keys are those of a file, the database has not been reached yet
    if (keyIds.length === 0 || !this.sessions.isInitialized) return;
    try {
      await this.sessions.withSession((manager) => writeUses(manager, keyIds));
    } catch {
      // It is not worth a line: that the database is away is logged by who follows it
    }
  }
}

async function writeUses(manager: EntityManager, keyIds: readonly string[]): Promise<void> {
  await manager.query(BEGIN_WRITING);
  await manager.query(NOTE_KEY_USE, [keyIds]);
  await manager.query('commit');
}
