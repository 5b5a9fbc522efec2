"""Whatever is sent to whichever operation by whomever: never an error of ours, and always what is described.

Cases are made from the API's description, valid and invalid ones, with the same seed every time. Each
operation is called its share of 1,000 times, in `make proofs` of 20,000, and that it was is asserted.
"""

from collections import Counter
from contextlib import closing
from functools import cache
from io import BytesIO
from itertools import cycle
from math import ceil

import pytest
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, transaction
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, given, settings, strategies as st

from citeboard.core import audit
from citeboard.teams.membership import add_member, invite_by_mail
from scoring.exchange.formats import BOARD_FILE_WRITERS
from scoring.results.board.public_results import build_system_slug
from tasks.models import MeasuresFile, Report
from tasks.registration.entries import ask_to_join
from tasks.seasons.announcements import ask
from tasks.seasons.presets import PRESETS_BY_SLUG
from tests.api.conftest import ROLES, World, make_world
from tests.api.sending import score
from tests.api.test_access import ACCESS
from tests.factories import (
    make_baseline,
    make_job,
    make_season,
    make_submission,
    make_user,
    run_bytes,
)
from tests.kept_worlds import KeptWorld, keep_world
from tests.mass import mass
from tests.scoring.sheets import make_estimates, make_pairs, make_sheet

#: Also somebody in the team that another one leads, and who organises another season alone.
EVERY_ROLE = (*ROLES, "mate", "elsewhere")
pytestmark = pytest.mark.mass
CALLS = ceil(mass(1_000, 20_000) / len(ACCESS))
FUZZED = settings(
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


@cache
def operations() -> dict:
    """Each as schemathesis reads it in the description, with the site itself behind it."""
    import schemathesis

    application = get_wsgi_application()

    def site(environ, start_response):
        """As a server runs it: every answer is sent to its end and closed."""
        response = application(environ, start_response)
        with closing(response):
            return [b"".join(response)]

    schema = schemathesis.openapi.from_dict(
        SchemaGenerator().get_schema(request=None, public=True)
    )
    schema.app = site
    described = [result.ok() for result in schema.get_all_operations()]
    return {
        f"{one.method.upper()} {one.definition.raw['operationId']}": one
        for one in described
    }


def checks() -> list:
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    return [
        not_a_server_error,
        response_schema_conformance,
        status_code_conformance,
        content_type_conformance,
    ]


def modes(operation) -> list:
    """Valid and invalid requests; any text may be a slug, and whoever takes nothing refuses nothing."""
    from schemathesis import GenerationMode

    takes_something = operation.body or operation.definition.raw.get("parameters")
    if "{slug}" in operation.path or not takes_something:
        return [GenerationMode.POSITIVE]
    return list(GenerationMode)


@pytest.fixture
def one_connection(monkeypatch):
    """The site keeps the connection of the test between requests, as it does for the test client; a large
    body stays in memory, since the client would leave its file open.
    """
    monkeypatch.setattr("werkzeug.test.TemporaryFile", lambda mode: BytesIO())
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


def make_world_to_aim_at() -> tuple[World, dict[str, list]]:
    """What there is, in every state that an operation may meet it in."""
    world = make_world()
    world.people |= {"mate": make_user(), "elsewhere": make_user()}
    add_member(team=world.team, user=world.people["mate"])
    make_season(organiser=world.people["elsewhere"])
    waiting = make_submission(phase=world.phase, team=world.team)
    scored = make_submission(phase=world.phase, team=world.team)
    theirs = make_submission(phase=world.phase, team=world.other_team)
    baseline = make_baseline(phase=world.phase)
    score(scored)
    runs = [waiting, scored, theirs, baseline]
    merge = world.season.merge_proposals.create(team=world.other_team, into=world.team)
    asked = ask_to_join(
        season=world.season, team=world.team, user=world.people["reader"], message=""
    )
    invited = invite_by_mail(
        team=world.team, address="a@example.org", by=world.people["member"]
    )
    job = make_job("background", state="failed", reason="No runs.")
    sheet = make_sheet(
        world.phase, {"r-1": {scored: "A text."}}, annotators=[world.people["reader"]]
    )
    pairs = make_pairs(
        world.phase, [("r-1", scored, theirs)], judges=[world.people["reader"]]
    )
    return world, {
        "pair-sheets": [pairs.pk],
        "estimate-sheets": [make_estimates(world.phase, [scored]).pk],
        "judge": [pairs.pk],
        "judges": [pairs.annotators.get().pk],
        "join-requests": [asked.pk],
        "asked": [asked.pk],
        "proposal": [merge.pk],
        "invited": [invited.pk],
        "phases": [world.phase.pk],
        "tasks": [world.task.pk],
        "gold": list(world.task.gold.values_list("pk", flat=True)),
        "sheets": [sheet.pk],
        "annotate": [sheet.pk],
        "annotators": [sheet.annotators.get().pk],
        "change": [
            audit.record_action(
                "member-joined", actor=None, subject=world.team, place=world.season
            ).pk
        ],
        "site": [MeasuresFile.objects.create(digest="0" * 64, text="x = 1").pk],
        "reports": [
            Report.objects.create(
                reported_by=world.people["member"], text="It is odd."
            ).pk
        ],
        "seasons": [world.season.slug],
        "submissions": [run.pk for run in runs],
        "teams": [world.team.slug, world.other_team.slug],
        "archives": ["not-mounted"],
        "jobs": [world.season.background_jobs.create(kind="sheet", job=job).pk],
        "new-season": list(PRESETS_BY_SLUG),
        "announcement": [world.season.announcements.create(text="Welcome.").pk],
        "acknowledgement": [
            scored.acknowledgements.create(failed_at=scored.status_since).pk
        ],
        "given": [
            world.phase.extra_tries.create(
                team=world.team, tries=2, reason="The site was away."
            ).pk
        ],
        "question": [
            ask(season=world.season, text="Why?", by=world.people["member"]).pk
        ],
        "system": [build_system_slug(scored.system), "none"],
        "prefix": [f"tasks.{world.task.slug}", "tasks.none"],
        "name": list(BOARD_FILE_WRITERS),
        "team": [world.team.slug, world.other_team.slug],
        "member": [world.people[role].pk for role in ("member", "mate")],
    }


def aimed(case, ids: dict[str, list], pick: int):
    """The case at something that exists, two times in three; a form with a real run, as often as not."""
    kind = case.path.split("/")[3]
    if case.path_parameters and pick % 3:
        name, *others = case.path_parameters
        case.path_parameters[name] = ids[kind][pick % len(ids[kind])]
        case.path_parameters |= {
            other: ids[other][pick % len(ids[other])]
            for other in others
            if other in ids
        }
    if isinstance(case.body, dict) and "run" in case.body and pick % 2:
        case.body["run"] = run_bytes()
    return case


@pytest.fixture(scope="module")
def kept_world(django_db_setup, django_db_blocker) -> KeptWorld:
    return keep_world(make_world_to_aim_at, django_db_blocker)


@pytest.mark.slow
@pytest.mark.usefixtures("one_connection")
@pytest.mark.parametrize("name", ACCESS)
def test_no_request_meets_an_error_of_ours(world, name):
    world, ids = world
    operation = operations()[name]
    # Answers are compared as they are, not as they may be sent.
    headers = {
        role: {**world.signed_in(role), "Accept-Encoding": "identity"}
        for role in EVERY_ROLE
    }
    asked, ways = Counter(), modes(operation)
    for mode in ways:
        with transaction.atomic():
            call_as_everybody(
                operation,
                mode,
                ids,
                headers,
                asked,
                max(len(EVERY_ROLE), ceil(CALLS / len(ways))),
            )
            transaction.set_rollback(True)
    assert set(asked) == set(EVERY_ROLE)
    assert asked.total() >= CALLS


def call_as_everybody(
    operation, mode, ids, headers, asked: Counter, calls: int
) -> None:
    """Each example is somebody else's, so that every role asks; a place to aim at makes each another one."""
    roles = cycle(EVERY_ROLE)

    @settings(FUZZED, max_examples=calls)
    @given(st.tuples(operation.as_strategy(mode), st.integers(0, 12 * calls)))
    def run(drawn):
        (case, pick), role = drawn, next(roles)
        response = aimed(case, ids, pick).call(headers=headers[role])
        case.validate_response(response, checks=checks())
        asked[role] += 1

    run()
