#!/bin/bash
# Sets the passwords of the roles. It runs once, after 1-roles.sql, when docker-compose makes the database.
set -euo pipefail
psql -v ON_ERROR_STOP=1 -U "${POSTGRES_USER:-postgres}" -d "$POSTGRES_DB" -v owner="$OWNER_PASSWORD" -v service="$SERVICE_PASSWORD" <<'SQL'
alter role order_lookup_owner password :'owner';
alter role order_lookup_service password :'service';
SQL
