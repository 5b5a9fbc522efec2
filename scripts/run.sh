#!/bin/sh
# The stranger's start: install, migrate, load the demo season, then site and worker as one command.
set -eu

cd "$(dirname "$0")/.."
sh scripts/environment.sh site
python=.venv/bin/python

# The site serves its own machine here; cookies may travel in the clear as nobody is between.
export CITEBOARD_INSECURE_HTTP="${CITEBOARD_INSECURE_HTTP:-yes}"

# A stranger should see how to sign in, not every step of every job.
export CITEBOARD_LOG_LEVEL="${CITEBOARD_LOG_LEVEL:-WARNING}"

"$python" scripts/port_is_free.py
# What the checks say, `serve` says.
"$python" manage.py migrate --verbosity 0 --skip-checks
"$python" manage.py demo --only begin --skip-checks
"$python" scripts/fetch_models.py missing
nice "$python" scripts/fetch_models.py pipeline &
"$python" manage.py demo --only rest --skip-checks &
exec "$python" manage.py serve
