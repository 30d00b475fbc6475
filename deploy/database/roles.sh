#!/bin/bash
# Runs once, when the database is made: an owner that migrates, and a service that may only read.
set -euo pipefail
psql -v ON_ERROR_STOP=1 -U "${POSTGRES_USER:-postgres}" -d "$POSTGRES_DB" -v owner="$OWNER_PASSWORD" -v service="$SERVICE_PASSWORD" <<'SQL'
create role order_lookup_owner login password :'owner';
create role order_lookup_service login password :'service';
grant create on schema public to order_lookup_owner;
grant usage on schema public to order_lookup_service;
alter default privileges for role order_lookup_owner in schema public grant select on tables to order_lookup_service;
SQL
