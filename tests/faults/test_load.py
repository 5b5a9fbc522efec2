"""The measurements of a site under load, in a small form: what they promise, and no times."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from django.db import connection

from tests.conftest import MIGRATED, ROOT, database_url

pytestmark = [
    pytest.mark.worker,
    pytest.mark.slow,
    pytest.mark.django_db,
    pytest.mark.both_databases,
]


@pytest.fixture
def measured():
    """Runs a measurement on a database of its own, of the kind of these tests, and gives what it says."""
    topology, environment = "sqlite", {**os.environ, "MIGRATED": str(MIGRATED)}
    if connection.vendor == "postgresql":
        if shutil.which("redis-server") is None:
            pytest.skip("redis-server is not installed")
        topology = "postgresql"
        environment["CITEBOARD_TEST_DATABASE_URL"] = database_url(
            connection.settings_dict
        )

    def run(script: str, *words: str) -> str:
        command = [
            sys.executable,
            f"bench/load/{script}",
            "--topology",
            topology,
            *words,
        ]
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def test_a_rush_before_a_deadline_loses_nothing_and_keeps_to_every_limit(measured):
    told = measured(
        "rush.py", "--teams", "5", "--uploads", "20", "--seconds", "2", "--readers", "2"
    )
    assert "10 runs of 5 teams are stored, 2 of each, and scored once." in told


@pytest.mark.proof
def test_two_groups_of_workers_score_each_run_once(measured):
    told = measured("two_workers.py", "--runs", "3", "--seconds", "0.2")
    assert "12 of 12 runs are scored exactly once" in told


@pytest.mark.proof
def test_costs_are_measured_of_answers_that_are_as_they_should_be(measured):
    told = measured("costs.py", "--runs", "200", "--seasons", "3", "--requests", "2")
    assert {"home, kept", "board, kept", "upload", "scoring"} <= {
        cost["what"] for cost in json.loads(told)
    }


@pytest.mark.proof
def test_memory_is_measured_while_every_answer_and_score_is_as_it_should_be(measured):
    told = measured("memory.py", "--requests", "40", "--scorings", "4", "--rounds", "2")
    assert "all together" in told
