#!/bin/sh
# The tests on SQLite but for slow ones, sites, workers and browsers, or whatever ARGS name. With `ci` all tests, then on
# PostgreSQL, where a server answers, those whose result can differ there (marked both_databases); with `all`
# every test there; with `proofs` what proves by mass, on SQLite, then on PostgreSQL the API's calls and the two worlds.
# Without ARGS and with `ci` the tests that rest on named files (the mark `rests_on`) are left out when none of
# these files changed; scripts/changed_since.py decides since which commit.
# The last lines are the test runner's own summary; ARGS are handed to it.
set -u

cd "$(dirname "$0")/.."
sh scripts/environment.sh dev || exit 1
python=.venv/bin/python
sh scripts/axe.sh

tier=${1:-sqlite}
postgres=
if [ "$tier" != sqlite ]; then
    postgres=$("$python" scripts/find_postgres.py 2>.venv/.no-postgres)
    found=$?
    case $found in
        0) ;;
        1) echo "The tests run on SQLite alone: $(cat .venv/.no-postgres)" ;;
        # A server that was asked for by name is not passed over.
        *) cat .venv/.no-postgres >&2; exit $found ;;
    esac
fi
unset CITEBOARD_TEST_DATABASE_URL CITEBOARD_TEST_ROOT CITEBOARD_TEST_ONLY CITEBOARD_TEST_PROOFS CITEBOARD_TEST_CHANGED

# Each process takes a part of the files and steals from the others at the end: what a file of tests builds is
# seldom built twice. Two more than there are processors, since many tests wait for processes of their own.
options="-n $(($(nproc) + 2)) --dist worksteal"

if [ "$tier" = proofs ]; then
    echo "What proves by mass"
    export CITEBOARD_TEST_PROOFS=yes
    # shellcheck disable=SC2086  # Options and ARGS are words.
    "$python" -m pytest $options ${ARGS:-} || exit $?
    [ -n "$postgres" ] || exit 0
    echo "The API's calls, and every answer in two worlds, on PostgreSQL"
    # shellcheck disable=SC2086
    CITEBOARD_TEST_DATABASE_URL="$postgres" exec "$python" -m pytest $options tests/api/test_fuzz.py \
        tests/access/test_two_worlds.py::test_no_answer_depends_on_hidden_answers
fi

if [ "$tier" = ci ] || { [ "$tier" = sqlite ] && [ -z "${ARGS:-}" ]; }; then
    mkdir -p .cache
    if "$python" scripts/changed_since.py >.cache/changed; then
        echo "Tests that rest on named files are left out where none has changed: \`make proofs\` runs these too"
        CITEBOARD_TEST_CHANGED=$PWD/.cache/changed
        export CITEBOARD_TEST_CHANGED
    fi
fi

if [ "$tier" = sqlite ] && [ -z "${ARGS:-}" ]; then
    echo "Tests on SQLite, but for those that take seconds, as with a browser: \`make test-all\` runs these too"
    CITEBOARD_TEST_ONLY=quick
    export CITEBOARD_TEST_ONLY
else
    echo "Tests on SQLite"
fi
# shellcheck disable=SC2086
"$python" -m pytest $options ${ARGS:-} || exit $?
[ -n "$postgres" ] || exit 0

export CITEBOARD_TEST_DATABASE_URL="$postgres"
if [ "$tier" = ci ]; then
    echo "On PostgreSQL the tests whose result can differ there"
    export CITEBOARD_TEST_ONLY=database
else
    echo "The same tests on PostgreSQL"
fi
# shellcheck disable=SC2086
exec "$python" -m pytest $options ${ARGS:-}
