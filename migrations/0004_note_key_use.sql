-- Up Migration

-- When each key was last used, to the minute. Apart from api_key, so that it neither raises a revision nor stands in the history.
create table api_key_use (
  key_id uuid not null constraint api_key_use_is_unique primary key,
  last_used_at timestamptz not null
);
comment on table api_key_use is 'When each key was last used, written by note_key_use alone';

-- The one function by which the service writes. Of a standby, which cannot be written, it asks nothing.
create function note_key_use(key_ids uuid[]) returns void language sql security definer set search_path = pg_catalog, pg_temp as $$
  insert into public.api_key_use (key_id, last_used_at)
  select id, now() from public.api_key where id = any (key_ids) order by id
  on conflict (key_id) do update set last_used_at = excluded.last_used_at
  where api_key_use.last_used_at < excluded.last_used_at - interval '1 minute'
$$;
revoke execute on function note_key_use from public;
do $$ begin
  if exists (select from pg_roles where rolname = 'order_lookup_service') then
    grant execute on function note_key_use to order_lookup_service;
  end if;
end $$;

-- Down Migration

drop function note_key_use;
drop table api_key_use;
