# One command each for a stranger, a developer and a machine; what they do stands in scripts/.
# PYTHON=/path/to/python3 chooses the Python, PORT=8001 the port, ARGS="-k word" what pytest runs.

.PHONY: help run test test-all proofs nightly lock plan reference messages papers check models wheel bench load faults fuzz attack clean
.DEFAULT_GOAL := help

PY := .venv/bin/python

# The checks see a deployment's settings and not the developer's: production, in a folder of its own.
CHECKED := env -u CITEBOARD_INSECURE_HTTP -u CITEBOARD_DEBUG -u DATABASE_URL -u REDIS_URL -u REDIS_CACHE_URL \
	CITEBOARD_DATA_DIR=$(CURDIR)/.cache/check CITEBOARD_BASE_URL=https://board.example.org \
	PYTHONPATH=$(CURDIR)/platform:$(CURDIR)

help:
	@echo "make run     install what the site needs, load the demo season, serve it on this machine"
	@echo "make test    run the tests on SQLite but for slow ones, sites, workers and browsers"
	@echo "make test-all  run every test on SQLite, then on PostgreSQL where a server answers"
	@echo "make proofs  run what proves by mass: fuzzing, growth and corpora at full size"
	@echo "make nightly run everything: checks, container steps, every test on both databases, proofs"
	@echo "make check   format, lint, types, import contracts, migrations, deployment checks, templates, constructs to unfold"
	@echo "make models  install the scorers that need models, and try to fetch the models"
	@echo "make wheel   write the wheel with the offline scorer and the client to dist/"
	@echo "make bench   run the measurements in bench/"
	@echo "make fuzz    check and score 105,000 mutated runs, and measure what twice the input costs"
	@echo "make attack  attack a site that it starts itself, and print what held"
	@echo "make load    a rush before a deadline, 100,000 runs, two groups of workers: on SQLite and PostgreSQL"
	@echo "make faults  kill every process 100 times, race limits, start under load, upgrade under uploads, play drills"
	@echo "make lock    write the locks of what the image installs"
	@echo "make plan    draw the packages of the code for docs/developers.md"
	@echo "make reference  write docs/reference.md from the code"
	@echo "make papers  compute every figure of the five papers that public data allow, and write docs/papers.md"
	@echo "make messages  bring the catalogues of other languages up to date and compile them"
	@echo "make clean   remove the environment and caches; data stays"

run:
	@sh scripts/run.sh

test:
	@sh scripts/test.sh

test-all:
	@sh scripts/test.sh all

# An hour: every length, count and corpus at its full size, then memory over 50,000 requests and 2,000 scorings.
proofs:
	@sh scripts/test.sh proofs
	$(PY) bench/load/memory.py

# Some hours, and before each release; starts the servers that it needs.
nightly:
	@.ci/run nightly

# With hashes; asks the package index.
lock:
	@sh scripts/environment.sh dev
	$(PY) scripts/lock.py

# The packages of the code, for docs/developers.md.
plan:
	$(PY) scripts/draw_plan.py

# Task types, metrics, options, commands and addresses, for docs/reference.md.
reference:
	@$(CHECKED) $(PY) scripts/write_reference.py

# Ten minutes; what lacks data is skipped with a reason, and keeps its value. Values that moved are recorded by
# `make papers ARGS=--accept` alone.
papers:
	@sh scripts/environment.sh all
	@$(PY) -m scoring papers cells --data $${CITEBOARD_SHARED:-../shared/data} --out docs/papers.md $(ARGS)

# What pages say, for the catalogues of other languages; needs xgettext.
messages:
	@$(PY) scripts/messages.py

check:
	@sh scripts/environment.sh dev
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(CHECKED) $(PY) -m mypy
	$(CHECKED) $(PY) -c 'from importlinter.cli import lint_imports_command as c; c()' --no-cache --no-logo
	$(CHECKED) $(PY) manage.py makemigrations --check --dry-run
	$(CHECKED) $(PY) manage.py check --deploy --fail-level WARNING
	$(PY) -m djlint templates --lint
	$(PY) scripts/readability.py

models:
	@sh scripts/environment.sh all
	@$(PY) scripts/fetch_models.py

# The backend needs nothing but Python, and pip no network.
wheel:
	@sh scripts/environment.sh site
	@mkdir -p dist
	@$(PY) -m pip wheel --quiet --disable-pip-version-check --no-deps --no-index --wheel-dir dist .
	@ls dist/*.whl

bench:
	@sh scripts/environment.sh dev
	@for file in bench/*.py; do [ -e "$$file" ] || continue; echo "$$file"; $(PY) "$$file" || exit 1; done

# Half an hour for each kind of database: a rush before a deadline, what things cost, one group against two.
load:
	@sh scripts/environment.sh dev
	@for topology in sqlite postgresql; do for file in rush costs two_workers; do \
		$(PY) bench/load/$$file.py --topology $$topology || exit 1; done; done

# Half an hour at most for each; the fault tables of both topologies, the race table, ten first starts at load 30,
# the upgrade from the last release and the way back on both databases, a failover, then drills on both.
faults:
	@sh scripts/environment.sh dev
	$(PY) bench/faults/kills.py
	$(PY) bench/faults/kills.py --topology postgresql
	$(PY) bench/faults/races.py
	$(PY) bench/faults/starts.py
	$(PY) bench/faults/upgrade.py
	$(PY) bench/faults/upgrade.py --topology postgresql
	$(PY) bench/faults/failover.py
	sh scripts/drill.sh

# Some minutes: a site of its own is attacked, and a table says what held. Where PostgreSQL answers, four web
# processes on it are raced too.
attack:
	@sh scripts/environment.sh dev
	$(PY) bench/attack.py
	@! $(PY) scripts/find_postgres.py >/dev/null 2>&1 || \
		$(PY) bench/attack.py --topology postgresql --only races requests

# Some minutes: 105,000 mutated runs of all task types, then what twice the input costs in every reader.
fuzz:
	@sh scripts/environment.sh dev
	PYTHONPATH=$(CURDIR)/platform:$(CURDIR) $(PY) -m tests.fuzz
	PYTHONPATH=$(CURDIR)/platform:$(CURDIR) $(PY) -m tests.growth

clean:
	rm -rf .venv .cache .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
