-- Up Migration

-- The keys of the communication codes that a transaction touched, so that the service reads those again rather than all of them.
-- A key that is null stands for a truncation.
create view communication_code_change as
  select transaction_id, version.row ->> 'code_type' as code_type, version.row ->> 'code' as code
  from history cross join lateral (values (old_row), (new_row)) as version (row)
  where table_name = 'communication_code' and (version.row is not null or operation = 'TRUNCATE');

create index history_communication_code_by_transaction on history (transaction_id) where table_name = 'communication_code';

-- Down Migration

drop index history_communication_code_by_transaction;
drop view communication_code_change;
