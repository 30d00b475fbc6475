import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { withSession } from '../../database/session.js';

const MINUTE_MS = 60_000;
/** Keys that are first used within this time are written together. */
const GATHER_MS = 1_000;

/** Records in the database when keys were last used, once a minute for each key at most. Nothing waits for it: what cannot be recorded is dropped. */
@Injectable()
export class KeyUse {
  private readonly notedThisMinute = new Set<string>();
  private readonly gathered: string[] = [];

  constructor(@InjectDataSource() private readonly dataSource: DataSource) {
    setInterval(() => this.notedThisMinute.clear(), MINUTE_MS).unref();
    setInterval(() => void this.write(), GATHER_MS).unref();
  }

  note(keyId: string): void {
    if (this.notedThisMinute.has(keyId)) return;
    this.notedThisMinute.add(keyId);
    this.gathered.push(keyId);
  }

  private async write(): Promise<void> {
    const keyIds = this.gathered.splice(0);
    // Not initialized while the keys are those of LAST_GOOD_FILE, and when the process ends
    if (keyIds.length === 0 || !this.dataSource.isInitialized) return;
    await withSession(this.dataSource, async (manager) => {
      await manager.query(`begin; set local statement_timeout = '1s'`);
      await manager.query(
        'select public.note_key_use($1::uuid[]) from (select pg_is_in_recovery() as standby) s where not standby',
        [keyIds],
      );
      await manager.query('commit');
    }).catch(() => undefined);
  }
}
