"""A web process frees the objects that its caches evict."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
#: Each request leaves about 300 lists or similar objects in reference cycles.
LISTS, EVICTED = 1_000_000, 20_000
PROGRAM = f"""
import gc, json, weakref
import citeboard.wsgi
from django.urls import get_resolver

class Evicted:
    def __init__(self):
        self.itself = self

frozen, at_first = gc.get_freeze_count(), len(gc.get_objects())
get_resolver().url_patterns
of_pages = len(gc.get_objects()) - at_first

cache = [Evicted() for _ in range({EVICTED})]
gc.collect(1)
evicted = weakref.ref(cache[0])
cache.clear()
made = 0
while evicted() is not None and made < {LISTS}:
    ring = []
    ring.append(ring)
    made += 1
print(json.dumps(dict(made=made, frozen=frozen, of_pages=of_pages)))
"""


@pytest.fixture(scope="module")
def process(tmp_path_factory) -> dict[str, int]:
    data = tmp_path_factory.mktemp("data")
    environment = {
        **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
        "PYTHONPATH": os.pathsep.join([str(ROOT / "platform"), str(ROOT)]),
        "CITEBOARD_DATA_DIR": str(data),
        "CITEBOARD_INSECURE_HTTP": "yes",
    }
    command = [sys.executable, "-P", "-c", PROGRAM]
    output = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    ).stdout
    return json.loads(output)


def test_evicted_objects_are_freed_within_a_million_new_lists(process):
    assert process["made"] < LISTS


def test_all_pages_are_imported_before_the_freeze(process):
    assert process["of_pages"] < process["frozen"] / 20
