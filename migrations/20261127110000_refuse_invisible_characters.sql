-- Up Migration

-- The rule is as before, without `between`. PostgreSQL prints this expression as it reads it, so a dump and its restore
-- do not change it.
create or replace function is_clean(input text, most int) returns boolean
  language sql immutable strict parallel safe
  return length(input) >= 1 and length(input) <= most
    and input !~ ('^[\s\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\ufeff]'
      '|[\s\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\ufeff]$')
    and input !~ '[\u0001-\u001f\u007f-\u009f\u2028\u2029]';

-- Returns false if people cannot see or type a character: white space except the ordinary space, a format character
-- (category Cf), or one that is drawn as nothing (Default_Ignorable_Code_Point, and the empty Braille pattern).
create function is_visible(input text) returns boolean
  language sql immutable strict parallel safe
  return input !~ ('[\u0009-\u000d\u0085\u00a0\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2'
    '\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164'
    '\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3'
    '\U0001d173-\U0001d17a\U000e0000-\U000e0fff]');

-- Not valid, so existing rows stay, and are served. docs/upgrade.md shows how to find them.
alter table code_list_value
  add constraint code_list_value_has_no_invisible_characters check (is_visible(value)) not valid;
alter table communication_code
  add constraint communication_code_type_has_no_invisible_characters check (is_visible(code_type)) not valid,
  add constraint communication_code_has_no_invisible_characters check (is_visible(code)) not valid;
-- A key can be revoked whatever its client is called.
alter table api_key
  add constraint api_key_client_has_no_invisible_characters
    check (is_visible(client) or revoked_at is not null) not valid;

-- The doctor runs with the role of the service. It compared these sequences with their tables. A later migration
-- revokes this right.
do $$ begin
  if exists (select from pg_roles where rolname = 'order_lookup_service') then
    grant select on sequence history_id_seq, pgmigrations_id_seq to order_lookup_service;
  end if;
end $$;

-- Down Migration

do $$ begin
  if exists (select from pg_roles where rolname = 'order_lookup_service') then
    revoke select on sequence history_id_seq, pgmigrations_id_seq from order_lookup_service;
  end if;
end $$;
alter table api_key drop constraint api_key_client_has_no_invisible_characters;
alter table communication_code drop constraint communication_code_type_has_no_invisible_characters,
  drop constraint communication_code_has_no_invisible_characters;
alter table code_list_value drop constraint code_list_value_has_no_invisible_characters;
drop function is_visible;
create or replace function is_clean(input text, most int) returns boolean
  language sql immutable strict parallel safe
  return length(input) between 1 and most
    and input !~ ('^[\s\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\ufeff]'
      '|[\s\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\ufeff]$')
    and input !~ '[\u0001-\u001f\u007f-\u009f\u2028\u2029]';
