#!/bin/sh
# What a container does: `site` (the default), `worker`, `migrate`, `backup`, `models [NAME ...]`, or `manage COMMAND ...`.
set -eu

cd "$(dirname "$0")/.."
python=.venv/bin/python

case ${1:-site} in
    site)
        exec "$python" manage.py serve --only site
        ;;
    worker)
        exec "$python" manage.py serve --only worker
        ;;
    migrate)
        exec "$python" manage.py migrate --no-input
        ;;
    backup)
        exec "$python" manage.py backup "${BACKUPS:-/backups}/$(date -u +%Y-%m-%dT%H%M%SZ)" --keep "${BACKUPS_KEPT:-14}"
        ;;
    models)
        shift
        exec "$python" scripts/fetch_models.py "$@"
        ;;
    manage)
        shift
        exec "$python" manage.py "$@"
        ;;
    *)
        echo "There is no '$1' here; there are site, worker, migrate, backup, models and manage." >&2
        exit 2
        ;;
esac
