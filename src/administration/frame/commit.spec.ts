import { describe, expect, it } from '@jest/globals';
import { type Client, DatabaseError } from 'pg';
import { createDatabase, withSession } from '../../../test/support/database.js';
import { UnknownCommit, commit } from './commit.js';

/** A session that answers COMMIT with this. */
function sessionThat(answer: () => Promise<unknown>): Client {
  return { query: answer } as unknown as Client;
}

/** As a server with German messages sends it. */
function germanError(code: string, severity = 'FEHLER'): DatabaseError {
  return Object.assign(new DatabaseError('…', 1, 'error'), { code, severity });
}

describe('an error of PostgreSQL about COMMIT', () => {
  it.each(['23505', '40001', '40P01', '57014'])('%s means that it rolled back', async (code) => {
    const error = germanError(code);
    await expect(commit(sessionThat(() => Promise.reject(error)))).rejects.toBe(error);
  });

  it.each(['57P01', '57P02', '57P05', '08006', '25P03', '25P04', 'XX000', '58030', '53100'])(
    '%s leaves it unknown',
    async (code) => {
      const error = germanError(code, 'FATAL');
      const committing = commit(sessionThat(() => Promise.reject(error)));
      await expect(committing).rejects.toThrow(UnknownCommit);
    },
  );
});

it('COMMIT is given up soon enough for a command that ends within 30 s', async () => {
  const queries: unknown[] = [];
  const query = (asked: unknown) => {
    queries.push(asked);
    return Promise.resolve({ command: 'COMMIT' });
  };
  await commit({ query } as unknown as Client);
  expect(queries).toEqual([{ text: 'commit', query_timeout: 20_000 }]);
});

it('a COMMIT that rolls back is an error', async () => {
  const database = await createDatabase({ migrated: false });
  await withSession(database.url, async (session) => {
    await session.query('begin');
    await expect(session.query('select 1 / 0')).rejects.toThrow('division by zero');
    await expect(commit(session)).rejects.toThrow('PostgreSQL rolled back');
  });
  await database.drop();
});
