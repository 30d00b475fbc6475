/** The state of a row of `api_key` as SQL, by the clock of the database, as ApiKeysService judges the keys that it holds: `ends` is in force until it is revoked. */
export const KEY_STATE = `case when revoked_at <= now() then 'ended' when expires_at <= now() then 'expired'
  when revoked_at is not null then 'ends' else 'in force' end`;
