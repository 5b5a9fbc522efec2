#!/bin/sh
# All tests on SQLite; with `all`, then the same on PostgreSQL where a server answers.
# The last lines are the test runner's own summary; ARGS are handed to it.
set -u

cd "$(dirname "$0")/.."
sh scripts/environment.sh dev || exit 1
python=.venv/bin/python
sh scripts/axe.sh

postgres=
if [ "${1:-}" = all ]; then
    postgres=$("$python" scripts/find_postgres.py 2>.venv/.no-postgres)
    found=$?
    case $found in
        0) ;;
        1) echo "The tests run on SQLite alone: $(cat .venv/.no-postgres)" ;;
        # A server that was asked for by name is not passed over.
        *) cat .venv/.no-postgres >&2; exit $found ;;
    esac
fi
unset CITEBOARD_TEST_DATABASE_URL CITEBOARD_TEST_ROOT

# Each process takes half of the files and steals from the other at the end: what a file of tests builds is seldom built twice.
options="-n 2 --dist worksteal"

echo "Tests on SQLite"
# shellcheck disable=SC2086  # Options and ARGS are words.
"$python" -m pytest $options ${ARGS:-} || exit $?
[ -n "$postgres" ] || exit 0

echo "The same tests on PostgreSQL"
# shellcheck disable=SC2086
CITEBOARD_TEST_DATABASE_URL=$postgres exec "$python" -m pytest $options ${ARGS:-}
