import type { Client } from 'pg';
import { MigrationFault } from '../migration-fault.js';
import { REHEARSAL_LIMITS } from '../rehearsal.js';
import { runFiles } from '../run-migrations.js';

export interface WayBackFault {
  readonly migration: string;
  readonly fault: string;
}

/** A file that is applied in a rehearsal, with what the tables of codes held before. */
interface AppliedFile {
  readonly name: string;
  readonly savepoint: string;
  readonly digestBefore: string;
}

/** In the order of the answers: a way back that leaves another order behind does not restore the codes. */
const DIGEST_AREAS = `select md5(string_agg(concat_ws(' ', area, property, code_list), ','
  order by area, position)) as digest from public.area_property`;
const DIGEST_VALUES = `select md5(string_agg(row(code_list, value, valid_from, valid_until)::text, ','
  order by code_list, position)) as digest from public.code_list_value`;
const DIGEST_RECORDS = `select md5(string_agg(row(code_type, code, description, valid_from, valid_until)::text, ','
  order by code_type collate "C", code collate "C")) as digest from public.communication_code`;

/**
 * Applies files in a rehearsal, one after the other, and remembers where each began, so that afterwards the way back of
 * each can be tried.
 */
export class WayBack {
  private readonly applied: AppliedFile[] = [];

  constructor(private readonly session: Client) {}

  async apply(name: string): Promise<void> {
    const savepoint = `before_file_${this.applied.length}`;
    const digestBefore = await this.digest();
    await this.session.query(`savepoint ${savepoint}`);
    await this.run('up', name);
    this.applied.push({ name, savepoint, digestBefore });
  }

  /** Undoes the files, the last one first. A file that fails is taken back, so that those before it are tried, too. */
  async findFaults(): Promise<WayBackFault[]> {
    const faults: WayBackFault[] = [];
    for (const { name, savepoint, digestBefore } of this.applied.toReversed()) {
      const fault = await this.undo(name, digestBefore);
      if (fault === undefined) continue;
      faults.unshift({ migration: name, fault });
      await this.session.query(`rollback to savepoint ${savepoint}`);
    }
    return faults;
  }

  private async undo(name: string, digestBefore: string): Promise<string | undefined> {
    try {
      await this.run('down', name);
    } catch (error) {
      if (!(error instanceof MigrationFault)) throw error;
      const [firstLine = ''] = error.message.split('\n');
      return `fails: ${firstLine.replace(/\.$/, '')}`;
    }
    const isSame = (await this.digest()) === digestBefore;
    return isSame ? undefined : 'does not restore the codes';
  }

  private run(direction: 'up' | 'down', name: string): Promise<void> {
    const { session } = this;
    const limits = REHEARSAL_LIMITS;
    return runFiles({ session, direction, name, limits, isInCallersTransaction: true });
  }

  /** Of what the service would serve, without the positions themselves: callers see only the order. */
  private async digest(): Promise<string> {
    const digests: string[] = [];
    for (const query of [DIGEST_AREAS, DIGEST_VALUES, DIGEST_RECORDS]) {
      digests.push(await this.digestOf(query));
    }
    return digests.join(' ');
  }

  /** A table may not be there: the first files make it, and their way back drops it. */
  private async digestOf(query: string): Promise<string> {
    await this.session.query('savepoint digest');
    try {
      const { rows } = await this.session.query<{ digest: string | null }>(query);
      return rows[0]?.digest ?? 'empty';
    } catch {
      return 'not readable';
    } finally {
      // Where the connection was lost, this fails
      await this.session.query('rollback to savepoint digest; release savepoint digest');
    }
  }
}
