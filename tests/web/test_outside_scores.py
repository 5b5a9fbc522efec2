"""Scores that organisers enter by hand: apart from the board's own, for whoever sees its scores."""

import csv
import io
from importlib import import_module

import pytest
from django.apps import apps
from django.core.exceptions import ValidationError
from django.urls import reverse

from citeboard.core.audit import find_history_of_place
from citeboard.teams.models import Token
from scoring.models import ManualMeasure, ManualScore
from scoring.results.board.manual_scores import (
    MAX_MEASURES_PER_PHASE,
    save_manual_measure,
)
from tasks.models import Organiser, Phase
from tasks.models.seasons import increment_board_version
from tasks.seasons.history import delete_phase, undo_history_entry
from tests import factories
from tests.scoring import boards
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db
SOURCE = "Crowd study of the Owl lab, 2026, https://example.org/study"
#: Neither of them can stand in a time or an id.
FIRST, SECOND = 61.7253, 44.9176


@pytest.fixture
def phase():
    phase = boards.make_phase()
    boards.scored_run(phase, boards.make_team(phase, "Ada"), 0.6, system="A's")
    boards.scored_run(phase, boards.make_team(phase, "Bo"), 0.4, system="B's")
    boards.scored_run(phase, None, 0.1, system="A baseline")
    return phase


@pytest.fixture
def organiser(phase):
    found = factories.make_user()
    Organiser.objects.create(season=phase.task.season, user=found)
    return found


def lines(phase, *values: float) -> str:
    runs = phase.submissions.order_by("pk").values_list("pk", flat=True)
    return "\n".join(
        f"{run}, {value}" for run, value in zip(runs, values, strict=False)
    )


def enter(client, organiser, phase, **said):
    client.force_login(organiser)
    form = {
        "name": "Crowd rating",
        "better": "up",
        "source": SOURCE,
        "values": lines(phase, FIRST, SECOND),
    }
    return client.post(place(phase), {**form, **said})


def place(phase) -> str:
    return reverse("organise-outside", args=[phase.task.season.slug, phase.pk])


@pytest.mark.both_databases
def test_they_stand_on_a_page_of_their_own_with_source_and_signature_and_rank_nothing(
    client, phase, organiser
):
    where = boards.address("outside", phase)
    tab = "?view=outside#view"
    assert tab not in client.get(boards.address("board", phase)).content.decode()
    assert enter(client, organiser, phase, better="down").status_code == 302
    client.logout()
    board = client.get(boards.address("board", phase))
    assert tab in board.content.decode()
    assert str(FIRST) not in board.content.decode()
    page = text_of(client.get(where))
    assert f"Crowd rating lower is better 1 A's Ada {FIRST} 2 B's Bo {SECOND}" in page
    assert (
        f"outside|Crowd rating|better:down|entered:{ManualMeasure.objects.get().entered_at:%Y-%m-%d}"
        in page
    )
    assert SOURCE in page
    assert "A baseline" not in page


def test_those_of_runs_that_do_not_count_are_kept_and_stand_apart(
    client, phase, organiser
):
    """For organisers, and for the team on the page of the run; none of them is dropped."""
    ada = phase.submissions.get(system="A's").team
    worse = boards.scored_run(phase, ada, 0.2, system="Worse")
    enter(
        client, organiser, phase, values=f"{lines(phase, FIRST)}\n{worse.pk} {SECOND}"
    )
    page = text_of(client.get(place(phase)))
    assert "Of runs that do not count They are stored" in page
    assert page.index("Of runs that do not count") < page.index(f"{worse.pk} {SECOND}")
    assert "Worse" not in text_of(client.get(boards.address("outside", phase)))
    run = reverse("submission", args=[worse.pk])
    client.force_login(ada.memberships.get().user)
    assert f"entered by hand Crowd rating {SECOND}" in text_of(client.get(run))
    phase.submissions.filter(system="A's").update(status="withdrawn")
    increment_board_version(phase.pk)
    assert str(SECOND) in text_of(client.get(boards.address("outside", phase)))
    Phase.objects.update(own_scores="nothing", board="organisers")
    assert str(SECOND) not in text_of(client.get(run))


def test_they_are_in_the_exports_and_the_api(client, phase, organiser):
    enter(client, organiser, phase)
    client.logout()
    board = boards.address("board", phase)
    rows = list(
        csv.DictReader(io.StringIO(client.get(f"{board}board.csv").content.decode()))
    )
    assert [row["outside_Crowd rating"] for row in rows] == [
        str(FIRST),
        str(SECOND),
        "",
    ]
    found = client.get(f"{board}board.json").json()
    assert [row.get("outside") for row in found["rows"]] == [
        {"Crowd rating": FIRST}, {"Crowd rating": SECOND}, None,
    ]  # fmt: skip
    assert [
        (one["name"], one["higher_is_better"], one["source"])
        for one in found["outside"]
    ] == [("Crowd rating", True, SOURCE)]
    [told] = client.get(reverse("api:outside", args=[phase.pk])).json()
    assert set(told["values"].values()) == {FIRST, SECOND}
    assert told["signature"].startswith("outside|Crowd rating|better:up|")


@pytest.mark.parametrize("board", ["ranks", "organisers", "nobody"])
def test_where_scores_are_hidden_nobody_reads_them(client, phase, organiser, board):
    enter(client, organiser, phase)
    Phase.objects.update(board=board)
    client.logout()
    where = boards.address("board", phase)
    own = [
        boards.address("outside", phase),
        where,
        f"{where}board.json",
        f"{where}board.csv",
    ]
    for address in (*own, reverse("api:outside", args=[phase.pk])):
        assert str(FIRST) not in client.get(address).content.decode(), address
    client.force_login(organiser)
    assert str(FIRST) in client.get(boards.address("outside", phase)).content.decode()


@pytest.mark.both_databases
def test_the_same_name_takes_its_place_the_same_again_changes_nothing_and_none_takes_it_away(
    client, phase, organiser
):
    enter(client, organiser, phase)
    enter(client, organiser, phase)
    assert find_history_of_place(phase.task.season).count() == 1
    enter(client, organiser, phase, values=lines(phase, SECOND))
    entry = find_history_of_place(phase.task.season).first()
    assert (
        entry.words
        == f"entered 1 score by hand as “Crowd rating” of {phase.task}, {phase}"
    )
    assert [
        (change["key"], len(change["before"]), len(change["after"]))
        for change in entry.changes
    ] == [("Crowd rating, values", 2, 1)]
    version = Phase.objects.get().version
    enter(client, organiser, phase, values="", source="")
    assert not ManualScore.objects.exists()
    assert (
        "took away what was entered by hand"
        in find_history_of_place(phase.task.season).first().words
    )
    assert Phase.objects.get().version > version


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("values", "said"),
    [
        ("", "Give the value of at least one run"),
        ("one 2", "Line 1: “one 2” is not the number of a run and a value"),
        ("\n999999999 2", "Line 2: the phase has no run 999999999"),
        ("{run} nan", "is not the number of a run and a value"),
        ("{run} 1e999", "is not the number of a run and a value"),
        ("{run}", "is not the number of a run and a value"),
        ("{run} 1\n{run} 2", "Line 2: run {run} has a value already"),
        ("²  1", "is not the number of a run and a value"),
        ("x\n" * 6000, "at most 5,000 are read"),
    ],
)
def test_what_cannot_be_meant_is_told_by_line_and_nothing_is_entered(
    client, phase, organiser, values, said
):
    run = phase.submissions.order_by("pk").first().pk
    refused = enter(client, organiser, phase, values=values.replace("{run}", str(run)))
    assert refused.status_code == 422
    assert said.replace("{run}", str(run)) in text_of(refused)
    assert not ManualMeasure.objects.exists()


def test_a_run_of_another_phase_is_none_of_this_one_and_a_source_is_needed(
    client, phase, organiser
):
    other = boards.scored_run(boards.make_phase(), None, 0.3)
    assert "has no run" in text_of(
        enter(client, organiser, phase, values=f"{other.pk} 1")
    )
    assert "Say who measured it and where" in text_of(
        enter(client, organiser, phase, source=" ")
    )
    assert not ManualMeasure.objects.exists()


def test_a_phase_has_no_more_measures_than_fit(phase, organiser):
    given = {
        "phase": phase,
        "higher_is_better": True,
        "source": SOURCE,
        "by": organiser,
    }
    for number in range(MAX_MEASURES_PER_PHASE):
        save_manual_measure(**given, name=f"m{number}", values=lines(phase, 1.0))
    with pytest.raises(ValidationError, match="more are not allowed"):
        save_manual_measure(**given, name="one more", values=lines(phase, 1.0))


def test_organisers_enter_them_by_token(client, phase, organiser):
    _, secret = Token.objects.create_token(user=organiser, name="a program")
    headers = {"Authorization": f"Token {secret}"}
    where = reverse("api:outside", args=[phase.pk])
    said = {"name": "Crowd rating", "source": SOURCE, "values": lines(phase, FIRST)}
    [told] = client.post(where, said, headers=headers).json()
    assert list(told["values"].values()) == [FIRST]
    refused = client.post(where, {**said, "values": "1"}, headers=headers)
    assert refused.status_code == 400
    assert "line 1" in str(refused.json()["errors"]["values"])
    assert client.post(where, {**said, "values": ""}, headers=headers).json() == []


@pytest.mark.both_databases
def test_a_measure_that_was_deleted_under_its_old_name_comes_back(organiser):
    empty = boards.make_phase()
    season = empty.task.season
    ManualMeasure.objects.create(phase=empty, name="Fluency", source=SOURCE)
    delete_phase(phase=empty, by=organiser)
    migration = import_module("scoring.migrations.0016_manual_scores")
    migration.rename_in_history(
        apps, {new: old for old, new in migration.NAMES.items()}
    )
    assert "scoring.outsidemeasure" in str(
        find_history_of_place(season).first().changes
    )
    migration.rename_in_history(apps, migration.NAMES)
    undo_history_entry(
        season=season, entry=find_history_of_place(season).first(), by=organiser
    )
    assert ManualMeasure.objects.get(phase=empty.pk).name == "Fluency"
