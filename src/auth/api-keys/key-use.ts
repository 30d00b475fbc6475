// Records in the database when keys were last used. It promises three things: at most one write for each key and minute; a request only
// looks into a set; and nothing waits for it, since it has a session and a time limit of its own: a use that cannot be recorded is dropped.
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { withSession } from '../../database/session.js';

const EVERY_MS = 60_000;
/** Keys that are first used within this time are written together. */
const GATHER_MS = 1_000;

@Injectable()
export class KeyUse implements OnApplicationShutdown {
  /** Keys that were or will be recorded in this minute. */
  private readonly known = new Set<string>();
  private gathered: string[] = [];
  private readonly minute = setInterval(() => this.known.clear(), EVERY_MS).unref();
  private soon: NodeJS.Timeout | undefined;

  constructor(@InjectDataSource() private readonly dataSource: DataSource) {}

  note(keyId: string): void {
    if (this.known.has(keyId)) return;
    this.known.add(keyId);
    this.gathered.push(keyId);
    this.soon ??= setTimeout(() => void this.write(), GATHER_MS).unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.minute);
    clearTimeout(this.soon);
  }

  private async write(): Promise<void> {
    const keyIds = this.gathered;
    [this.gathered, this.soon] = [[], undefined];
    if (!this.dataSource.isInitialized) return; // the keys are from LAST_GOOD_FILE: nothing was read through the pool yet
    try {
      await withSession(this.dataSource, async (manager) => {
        await manager.query(`begin; set local statement_timeout = '1s'`);
        await manager.query(
          'select public.note_key_use($1::uuid[]) from (select pg_is_in_recovery() as standby) s where not standby',
          [keyIds],
        );
        await manager.query('commit');
      });
    } catch {
      // The database is away, or the role lacks the right. The next use of the key is recorded a minute later
    }
  }
}
