#!/bin/sh
# Plays all faults of `manage.py drill` on a site with the demo: on SQLite, and on PostgreSQL where a server answers.
set -eu

cd "$(dirname "$0")/.."
sh scripts/environment.sh dev
python=.venv/bin/python
folder=$(mktemp -d)
database=citeboard_drill_$$
postgres=$("$python" scripts/find_postgres.py 2>/dev/null) || postgres=

statement() { "$python" -c 'import psycopg, sys; psycopg.connect(sys.argv[1], autocommit=True).execute(sys.argv[2])' "$postgres" "$1"; }

cleanup() {
    rm -rf "$folder"
    [ -z "$postgres" ] || statement "DROP DATABASE IF EXISTS $database WITH (FORCE)"
}
trap cleanup EXIT

export CITEBOARD_DATA_DIR="$folder" CITEBOARD_INSECURE_HTTP=yes
unset DATABASE_URL
drill() {
    "$python" manage.py migrate --verbosity 0
    "$python" manage.py drill
}

drill
[ -n "$postgres" ] || exit 0
statement "CREATE DATABASE $database"
export DATABASE_URL="${postgres%/*}/$database"
drill
