/**
 * The state of a row of `api_key` as SQL, by the clock of the database, as `ApiKeysService` judges the keys that it
 * holds: `in force`, `ends` (in force until the moment that `rotate` set), `ended` (revoked) or `expired`. Other files
 * compare with these words, and `keys list --json` prints them.
 */
export const KEY_STATE = `case
    when revoked_at <= now() then 'ended'
    when expires_at <= now() then 'expired'
    when revoked_at is not null then 'ends'
    else 'in force'
  end`;
