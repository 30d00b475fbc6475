-- Up Migration

-- The revision of a topic is the sum over its slots, so that it grows with every commit. One row for all would make a revoked key wait for
-- any open migration, and a sequence would miss what commits late. A transaction raises a slot that no other holds, or adds one.
create table revision (
  topic text not null,
  slot int not null generated always as identity,
  value bigint not null default 1,
  constraint revision_slot_is_unique primary key (topic, slot),
  constraint revision_topic_is_known check (topic in ('codes', 'keys'))
);
insert into revision (topic) values ('codes'), ('keys');

create function note_change() returns trigger language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare raised boolean := false;
begin
  begin
    update public.revision set value = value + 1
     where topic = tg_argv[0]
       -- the newest first: where this transaction had to add a slot, that one
       and slot = (select slot from public.revision where topic = tg_argv[0] order by slot desc limit 1 for update skip locked);
    raised := found;
  exception when serialization_failure then
    null; -- in REPEATABLE READ a slot that another raised since our snapshot cannot be used
  end;
  if not raised then
    insert into public.revision (topic) values (tg_argv[0]);
  end if;
  perform pg_notify('order_lookup_changed', tg_argv[0]);
  return null;
end $$;
-- Whoever may create tables could otherwise attach it to one of their own.
revoke execute on function note_change from public;

create trigger note_change after insert or update or delete or truncate on code_list for each statement execute function note_change('codes');
create trigger note_change after insert or update or delete or truncate on code_list_value for each statement execute function note_change('codes');
create trigger note_change after insert or update or delete or truncate on area_property for each statement execute function note_change('codes');
create trigger note_change after insert or update or delete or truncate on communication_code for each statement execute function note_change('codes');
create trigger note_change after insert or update or delete or truncate on api_key for each statement execute function note_change('keys');

-- Down Migration

drop trigger note_change on api_key;
drop trigger note_change on communication_code;
drop trigger note_change on area_property;
drop trigger note_change on code_list_value;
drop trigger note_change on code_list;
drop function note_change;
drop table revision;
