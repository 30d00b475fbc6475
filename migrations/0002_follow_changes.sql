-- Up Migration

-- The identity of a topic's content: how many transactions changed it, and the exclusive or of the random stamps that they left. Two contents
-- never have the same one, whatever was restored or lost in between, since a stamp never comes back. Writers do not wait for each other.
create table revision (
  topic text not null,
  transaction_id xid8 not null default pg_current_xact_id(),
  -- Numbers of transactions come again on another server, but not at the same microsecond
  begun_at timestamptz not null default now(),
  -- What changed: the communication codes in changed_code and any list (records), or anything (everything). Rows of several transactions
  -- that are no longer told apart are folded into one, which leaves the identity as it is.
  extent text not null,
  transactions bigint not null default 1,
  stamp bigint not null default hashtextextended(gen_random_uuid()::text, 0),
  constraint revision_is_unique_in_its_transaction primary key (topic, transaction_id, begun_at, extent),
  constraint revision_topic_is_known check (topic in ('codes', 'keys')),
  constraint revision_extent_is_known check (extent in ('records', 'everything', 'folded'))
);
comment on table revision is 'What tells one content from another, written by trigger alone';

-- The communication codes that a transaction touched, by their former and their new keys. It goes when the transaction's revision is folded.
create table changed_code (
  transaction_id xid8 not null default pg_current_xact_id(),
  begun_at timestamptz not null default now(),
  code_type text collate "C" not null,
  code text collate "C" not null
);
create index changed_code_by_transaction on changed_code (transaction_id, begun_at);
comment on table changed_code is 'What the service reads again after a change, written by trigger alone';

-- Folds what is older than ten minutes. Whoever loaded something older reads everything anew.
create function fold_revisions(folded_topic text) returns void language plpgsql as $$
declare
  -- Rows that another transaction folds are left to it. In REPEATABLE READ even those that it folded since our snapshot are still seen, and
  -- to lock one would fail: their xmax tells.
  old constant tid[] := array(
    select ctid from public.revision
     where topic = folded_topic and begun_at < now() - interval '10 minutes'
       and (xmax = '0' or current_setting('transaction_isolation') = 'read committed')
     order by topic, transaction_id limit 1000 for update skip locked);
begin
  if cardinality(old) < 2 then
    return;
  end if;
  with folded as (
    delete from public.revision where ctid = any (old) returning transaction_id, begun_at, transactions, stamp
  ), forgotten as (
    delete from public.changed_code c using folded f where (c.transaction_id, c.begun_at) = (f.transaction_id, f.begun_at)
  )
  insert into public.revision (topic, extent, transactions, stamp)
  select folded_topic, 'folded', sum(transactions), bit_xor(stamp) from folded;
end $$;

-- Notes that this transaction changed the topic: work of a constant size, and almost none after the first time.
create function note_change(changed_topic text, changed_extent text) returns void language plpgsql as $$
declare noted bigint;
begin
  insert into public.revision (topic, extent) values (changed_topic, changed_extent) on conflict do nothing returning stamp into noted;
  if noted is not null then
    perform pg_notify('order_lookup_changed', changed_topic);
    if noted & 31 = 0 then -- one of 32 transactions
      perform public.fold_revisions(changed_topic);
    end if;
  end if;
end $$;

-- Whoever deletes from these tables takes away what tells contents apart: everything is read anew. Folding comes from a trigger itself.
create function guard_revisions() returns trigger language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if pg_trigger_depth() = 1 then
    perform public.note_change(topic, 'everything') from unnest(array['codes', 'keys']) as topic;
  end if;
  return null;
end $$;
create trigger guard after delete or truncate on revision for each statement execute function guard_revisions();
create trigger guard after delete or truncate on changed_code for each statement execute function guard_revisions();

revoke execute on function fold_revisions, note_change, guard_revisions from public;

-- Down Migration

drop table changed_code, revision;
drop function guard_revisions, note_change, fold_revisions;
