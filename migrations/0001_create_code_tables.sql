-- Up Migration

-- Whether the service can return a text: not empty, no white space around it, no control characters (C0, DEL, C1, line and paragraph
-- separators). A body of this form is resolved now, so no later function or setting of a session changes what it calls.
create function is_clean(input text, most int) returns boolean
  language sql immutable strict parallel safe
  -- In collation "C" \s matches only ASCII white space, so the expression lists the white space of Unicode.
  return length(input) between 1 and most
    and input !~ '^[\s\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\ufeff]|[\s\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\ufeff]$'
    and input !~ '[\u0001-\u001f\u007f-\u009f\u2028\u2029]';

create table code_list (
  name text collate "C" constraint code_list_is_unique primary key,
  constraint code_list_name_is_a_short_identifier check (name ~ '^[A-Za-z][A-Za-z0-9_-]{0,63}$')
);
comment on table code_list is 'A list of values, stored once even if both areas return it';

create table code_list_value (
  code_list text collate "C" not null,
  value text collate "C" not null,
  position int not null,
  valid_from timestamptz,
  valid_until timestamptz,
  constraint code_list_value_is_unique_in_its_list primary key (code_list, value),
  constraint code_list_value_names_a_list foreign key (code_list) references code_list (name) on update cascade on delete cascade,
  constraint code_list_value_is_clean_text_of_256_characters check (is_clean(value, 256)),
  constraint code_list_value_position_is_positive check (position > 0),
  constraint code_list_value_position_is_unique_in_its_list unique (code_list, position) deferrable initially deferred,
  constraint code_list_value_ends_after_it_begins check (valid_until > valid_from),
  -- infinity and dates outside the range of JavaScript cannot be returned or scheduled
  constraint code_list_value_begins_in_the_years_1_to_9999 check (valid_from >= '0001-01-01z' and valid_from < '10000-01-01z'),
  constraint code_list_value_ends_in_the_years_1_to_9999 check (valid_until >= '0001-01-01z' and valid_until < '10000-01-01z')
);
comment on column code_list_value.position is 'Order in the answer; a value inserted without a position goes to the end';
comment on column code_list_value.valid_from is 'Served from this moment on; null: no bound';
comment on column code_list_value.valid_until is 'Served until just before this moment; null: no bound';

create table area_property (
  area text collate "C" not null,
  property text collate "C" not null,
  position int not null,
  code_list text collate "C" not null,
  constraint area_property_is_unique_in_its_area primary key (area, property),
  constraint area_property_area_is_known check (area in ('order-update', 'order-capture-v2')),
  constraint area_property_is_a_json_name check (property ~ '^[a-z][A-Za-z0-9]{0,63}$'),
  constraint area_property_names_a_list foreign key (code_list) references code_list (name) on update cascade,
  constraint area_property_position_is_positive check (position > 0),
  constraint area_property_position_is_unique_in_its_area unique (area, position) deferrable initially deferred
);
comment on table area_property is 'Which property of which area returns which list';

create table communication_code (
  code_type text collate "C" not null,
  code text collate "C" not null,
  description text not null,
  valid_from timestamptz,
  valid_until timestamptz,
  constraint communication_code_is_unique primary key (code_type, code),
  constraint communication_code_type_is_clean_text_of_256_characters check (is_clean(code_type, 256)),
  constraint communication_code_is_clean_text_of_256_characters check (is_clean(code, 256)),
  constraint communication_code_description_is_clean_text_of_1024_characters check (is_clean(description, 1024)),
  constraint communication_code_ends_after_it_begins check (valid_until > valid_from),
  constraint communication_code_begins_in_the_years_1_to_9999 check (valid_from >= '0001-01-01z' and valid_from < '10000-01-01z'),
  constraint communication_code_ends_in_the_years_1_to_9999 check (valid_until >= '0001-01-01z' and valid_until < '10000-01-01z')
);
create unique index communication_code_by_code on communication_code (code, code_type);
comment on column communication_code.valid_from is 'Served from this moment on; null: no bound';
comment on column communication_code.valid_until is 'Served until just before this moment; null: no bound';

create table api_key (
  id uuid not null default gen_random_uuid() constraint api_key_id_is_unique primary key,
  client text not null,
  key_hash bytea not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  constraint api_key_client_is_clean_text_of_128_characters check (is_clean(client, 128)),
  constraint api_key_hash_is_unique unique (key_hash),
  constraint api_key_hash_is_sha_256 check (octet_length(key_hash) = 32),
  constraint api_key_expires_after_it_is_created check (expires_at > created_at),
  -- infinity and dates outside the range of JavaScript would make the whole list of keys unreadable
  constraint api_key_expiry_is_in_the_years_1_to_9999 check (expires_at between '0001-01-01z' and '9999-12-31z'),
  constraint api_key_revocation_is_in_the_years_1_to_9999 check (revoked_at between '0001-01-01z' and '9999-12-31z'),
  constraint api_key_creation_is_in_the_years_1_to_9999 check (created_at between '0001-01-01z' and '9999-12-31z')
);
comment on column api_key.key_hash is 'SHA-256 of the key; the key itself is not stored';

-- A value or property without a position goes to the end. The lock serializes sessions that append to the same list.
create function append_code_list_value() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if new.position is null then
    perform pg_advisory_xact_lock(hashtextextended('code_list_value ' || new.code_list, 0));
    select coalesce(max(position), 0) + 1 into new.position from public.code_list_value where code_list = new.code_list;
  end if;
  return new;
end $$;
create trigger append before insert on code_list_value for each row execute function append_code_list_value();

create function append_area_property() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if new.position is null then
    perform pg_advisory_xact_lock(hashtextextended('area_property ' || new.area, 0));
    select coalesce(max(position), 0) + 1 into new.position from public.area_property where area = new.area;
  end if;
  return new;
end $$;
create trigger append before insert on area_property for each row execute function append_area_property();
-- Both functions run with the owner's rights, so that a role needs only INSERT on the table. They are for these two triggers only.
revoke execute on function append_code_list_value, append_area_property from public;

-- Down Migration

drop table api_key, communication_code, area_property, code_list_value, code_list;
drop function append_area_property, append_code_list_value, is_clean;
