"""A phase whose board everybody sees, a team, and `serve` beside it."""

from collections.abc import Iterator

import pytest

from tasks.models import Phase, Submission
from tests.factories import make_phase, make_submission, make_team
from tests.faults.serving import Served


@pytest.fixture
def phase(transactional_db) -> Phase:
    return make_phase()


@pytest.fixture
def team(phase):
    return make_team(season=phase.task.season)


@pytest.fixture
def send(phase, team):
    """Sends a run through the site's own door."""

    def send_run() -> Submission:
        return make_submission(phase=phase, team=team)

    return send_run


@pytest.fixture
def serve(child_environment, tmp_path) -> Iterator:
    """Starts `serve`, of one web process, and waits until it is ready; what is left goes with the test."""
    started = []

    def start(
        *, only: str | None = "worker", wait: bool = True, **environment: str
    ) -> Served:
        log = tmp_path / f"serve-{len(started)}.log"
        own = {"CITEBOARD_WEB_WORKERS": "1", **environment}
        served = Served({**child_environment, **own}, log, only=only)
        started.append(served)
        if wait:
            served.wait_until_ready()
        return served

    yield start
    for served in started:
        served.destroy()
        print(served.said())  # noqa: T201  (shown where the test fails)
