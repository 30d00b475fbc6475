// Tells the database which keys were used. It promises: at most one line for each key and minute, nothing on the path of a request but a
// look into a set, and no failure of a request: what cannot be noted is forgotten.
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';

const EVERY_MS = 60_000;
/** Keys that are first used within this time are noted together. */
const GATHER_MS = 1_000;

@Injectable()
export class KeyUse implements OnApplicationShutdown {
  /** Noted, or about to be, in this minute. */
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
    if (!this.dataSource.isInitialized) return; // a key that was read shows that the pool was there
    try {
      await this.dataSource.query(
        'select public.note_key_use($1::uuid[]) from (select pg_is_in_recovery() as standby) s where not standby',
        [keyIds],
      );
    } catch {
      // The database is away, or the role may not: the next use of the key is noted a minute later
    }
  }
}
