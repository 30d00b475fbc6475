import { Command } from 'commander';
import { print } from '../cli/program.js';
import { changeKeys, unknownId } from './key-changes.js';

interface RevokedKey {
  readonly id: string;
  readonly client: string;
  readonly revokedAt: Date;
}

/** The first end counts: a key that has ended keeps its moment. */
const REVOKE = `
  update api_key set revoked_at = least(revoked_at, now()) where id::text = lower($1)
  returning id, client, revoked_at as "revokedAt"`;

export const revoke = new Command('revoke')
  .description('ends a key now, also one whose end is set for later')
  .argument('<KEY_ID>')
  .action(async (id: string) => {
    const key = await changeKeys(async (session) => {
      const { rows } = await session.query<RevokedKey>(REVOKE, [id]);
      if (!rows[0]) throw unknownId();
      return rows[0];
    });
    print(`The key ${key.id} of ${key.client} is revoked since ${key.revokedAt.toISOString()}.`);
  });
