"""What tests rest on that are run when it has changed: the paths of their mark `rests_on`.

`make proofs` and `make nightly` run them whatever has changed. What a marked test imports must lie
below its paths (tests/core/test_resting.py).
"""

import pytest

PACKAGES = ("requirements*", "pyproject.toml")
#: The half that is plain Python: types, measures, statistics, the scorer, what builds gold.
SCORER = (
    "tasks/__init__.py",
    "tasks/types",
    "scoring/*.py",
    "scoring/client",
    "scoring/distribution",
    "scoring/figures",
    "scoring/judges",
    "scoring/metrics",
    "scoring/offline",
    "scoring/stats",
    "scoring/tools",
    "examples/tasks",
)
#: How files come to a site, before they are read.
UPLOADS = (
    "platform/citeboard/core",
    "platform/citeboard/teams",
    "scoring/human",
    "scoring/worker",
    "tasks",
)
#: Texts, answers and files that several of these tests make.
MADE = (
    "tests/*.py",
    "tests/core/standing_*",
    "tests/declared/*.*",
    "tests/fuzz",
    "tests/growth",
    "tests/scoring/*.*",
    "tests/scoring/builders",
    "tests/tasks/test_every_type.py",
    "tests/tasks/types",
    "tests/wheel/conftest.py",
)

rests_on_scorer = pytest.mark.rests_on(*PACKAGES, *SCORER, *MADE)
rests_on_reading = pytest.mark.rests_on(*PACKAGES, *SCORER, *UPLOADS, *MADE)
