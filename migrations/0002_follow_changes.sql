-- Up Migration

-- The identity of a topic's content: the number of transactions that changed it, and the exclusive or of the random stamp of each. Two
-- different contents never have the same identity, whatever was restored or lost between them, because a stamp is never used twice.
-- Writers do not wait for each other.
create table revision (
  topic text not null,
  transaction_id xid8 not null default pg_current_xact_id(),
  -- Another server can use the same transaction number, but not in the same microsecond
  begun_at timestamptz not null default now(),
  -- What changed. records: the communication codes in changed_code, and any list; everything: anything; folded: the row stands for several
  -- old transactions, which leaves the identity as it is.
  extent text not null,
  transactions bigint not null default 1,
  stamp bigint not null default hashtextextended(gen_random_uuid()::text, 0),
  constraint revision_is_unique_in_its_transaction primary key (topic, transaction_id, begun_at, extent),
  constraint revision_topic_is_known check (topic in ('codes', 'keys')),
  constraint revision_extent_is_known check (extent in ('records', 'everything', 'folded'))
);
comment on table revision is 'The identity of the content of each topic; written by triggers only';

-- The communication codes that a transaction changed, with their old and new keys. The rows are deleted when the transaction's revision is
-- folded.
create table changed_code (
  transaction_id xid8 not null default pg_current_xact_id(),
  begun_at timestamptz not null default now(),
  code_type text collate "C" not null,
  code text collate "C" not null
);
create index changed_code_by_transaction on changed_code (transaction_id, begun_at);
comment on table changed_code is 'The codes that the service reads again after a change; written by triggers only';

-- Folds revisions that are older than ten minutes. A replica whose snapshot is older than that reads everything.
create function fold_revisions(folded_topic text) returns void language plpgsql as $$
declare
  -- Rows that another transaction is folding are skipped. In REPEATABLE READ this transaction still sees rows that another one folded after
  -- our snapshot, and locking such a row would fail: its xmax is set.
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

-- Records that this transaction changed the topic. The work does not depend on the size of the change; further calls in the same
-- transaction do almost nothing.
create function note_change(changed_topic text, changed_extent text) returns void language plpgsql as $$
declare noted bigint;
begin
  insert into public.revision (topic, extent) values (changed_topic, changed_extent) on conflict do nothing returning stamp into noted;
  if noted is not null then
    perform pg_notify('order_lookup_changed', changed_topic);
    if noted & 31 = 0 then -- in one of 32 transactions
      perform public.fold_revisions(changed_topic);
    end if;
  end if;
end $$;

-- Deleting from these tables destroys the identity, so every replica has to read everything. Folding is exempt: it runs inside a trigger.
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
