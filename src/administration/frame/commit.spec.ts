import { expect, it, jest } from '@jest/globals';
import { Client, DatabaseError } from 'pg';
import { UnknownCommit, commit } from './commit.js';

it('COMMIT is given up soon enough for a command that ends within 30 s', async () => {
  const session = new Client();
  const query = jest.spyOn(session, 'query').mockResolvedValue(undefined as never);
  await commit(session);
  expect(query.mock.calls).toEqual([[{ text: 'commit', query_timeout: 20_000 }]]);
});

it.each([
  { what: 'a refusal', severity: 'ERROR', isKnown: true },
  { what: 'a session that the server ended', severity: 'FATAL', isKnown: false },
])('$what counts as an answer: $isKnown', async ({ severity, isKnown }) => {
  const session = new Client();
  const error = Object.assign(new DatabaseError('no', 2, 'error'), { severity });
  jest.spyOn(session, 'query').mockRejectedValue(error as never);
  const failed = commit(session);
  await (isKnown
    ? expect(failed).rejects.toBe(error)
    : expect(failed).rejects.toBeInstanceOf(UnknownCommit));
});
