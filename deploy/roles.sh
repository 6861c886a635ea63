#!/bin/sh
# PostgreSQL's image runs this once, when the database is new. The collector gets a role of its own, which is no superuser: it owns
# its tables, and may see who reads them and drop the server's log.
set -eu
psql --no-psqlrc --set ON_ERROR_STOP=1 --username postgres --set password="$COLLECTOR_PASSWORD" <<'SQL'
CREATE ROLE deniable LOGIN PASSWORD :'password';
CREATE DATABASE deniable OWNER deniable;
GRANT pg_checkpoint, pg_read_all_stats TO deniable;
\connect deniable
GRANT EXECUTE ON FUNCTION pg_switch_wal() TO deniable;
SQL
