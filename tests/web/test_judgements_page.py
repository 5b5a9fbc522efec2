"""People beside automatic labels on an organiser's page: kappas, ratings, and files that are refused."""

import datetime as dt
import json
from dataclasses import dataclass
from io import StringIO

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db.models import F
from django.urls import reverse
from django.utils.timezone import now

from citeboard.core import storage
from citeboard.core.models import AuditEntry
from citeboard.teams.models import User
from scoring.models import HumanScore, JudgedRun
from scoring.worker.score import score
from tasks.models import Phase, Submission
from tests.background.background import followed
from tests.factories import make_team, make_user
from tests.kept_worlds import KeptWorld, keep_world, kept_folder
from tests.scoring import boards
from tests.scoring.citing import (
    CLAIM,
    citing_gold,
    citing_phase,
    citing_run,
    write_lines,
)
from tests.tasks.types.citations import RAIN, WIND
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db(transaction=True)

WINDY = "Wind is air that moves"


@dataclass
class World:
    """A scored run with claims that nobody has judged."""

    run: Submission
    organiser: User


def make_world() -> World:
    organiser = make_user()
    folder = kept_folder()
    phase = citing_phase(folder, organiser=organiser, entailment="word-overlap")
    citing_gold(phase, folder, RAIN, WIND)
    found = citing_run(phase, f"{CLAIM} [1][2]. Rome is dry [1].", f"{WINDY} [1].")
    for job in found.jobs.all():
        score(job.pk)
    found.refresh_from_db()
    return World(found, organiser)


@pytest.fixture(scope="module")
def kept(django_db_setup, django_db_blocker) -> KeptWorld:
    return keep_world(make_world, django_db_blocker)


@pytest.fixture
def world(transactional_db, kept) -> World:
    return kept()


@pytest.fixture
def organiser(client, world) -> User:
    client.force_login(world.organiser)
    return world.organiser


@pytest.fixture
def run(world, organiser) -> Submission:
    return world.run


def said(annotator: str, *recall: int) -> list[dict]:
    claims = (("q1", CLAIM), ("q1", "Rome is dry"), ("q2", WINDY))
    return [
        {"annotator": annotator, "id": name, "claim": claim, "recall": value}
        for (name, claim), value in zip(claims, recall, strict=True)
    ]


#: The automatic labels are 1, 0, 1: A agrees with all of them, B with all but the last.
JUDGED = [
    *said("A", 1, 0, 1),
    *said("B", 1, 0, 0),
    {"annotator": "A", "id": "q1", "claim": CLAIM, "mark": 2, "precision": 1},
    {"annotator": "A", "id": "q1", "utility": 4, "citation_utility": 1},
    {"annotator": "B", "id": "q1", "utility": 2},
]


def page(run) -> str:
    return reverse("submission-judgements", args=[run.pk])


def bring(client, run, lines):
    content = "".join(
        f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines
    ).encode()
    sent = client.post(page(run), {"file": SimpleUploadedFile("people.jsonl", content)})
    return followed(client, sent)


def cells(told: str, title: str) -> list[str]:
    row = told.partition(title)[2].partition("</tr>")[0]
    return [
        each.partition(">")[2].partition("</td>")[0].strip()
        for each in row.split("<td")[1:]
    ]


def test_people_and_automatic_labels_stand_side_by_side(client, run):
    assert "The judgements are stored." in text_of(bring(client, run, JUDGED))
    told = client.get(page(run)).content.decode()
    # The last is AC1: the two agree on 2 of 3, and each label has half of all, so that (2/3 - 1/2) / (1/2).
    # A's mean over responses is (1/2 + 1) / 2, B's (1/2 + 0) / 2; the automatic labels are A's.
    why = " (no interval: fewer than three units contribute to this number)"
    assert cells(told, "Citation recall, claims") == [
        "3", "2", f"50.00{why}", "75.00", f"A 1.0000{why}, B 0.4000{why}", f"0.7000{why}", f"0.3333{why}",
        f"0.4444{why}", f"0.3333{why}",
    ]  # fmt: skip
    items, annotators, people, automatic, *_ = cells(told, "Citation precision, marks")
    assert (items, annotators, people, automatic) == ("1", "1", f"100.00{why}", "0.00")
    assert cells(told, "Utility, 1 to 5")[:3] == ["1", "2", "3.0000"]
    assert "people.jsonl" in told


def test_metrics_are_held_against_judgements_for_organisers_alone(client, run):
    bring(client, run, JUDGED)
    phase = run.phase
    address = reverse(
        "people", args=[phase.task.season.slug, phase.task.slug, phase.slug]
    )
    assert f'href="{address}"' in client.get(page(run)).content.decode()
    told = text_of(client.get(address + "?criterion=recall"))
    assert "people's judgement of recall: over" in told
    assert "citation utility" in told
    client.logout()
    assert client.get(address).status_code == 404


@pytest.mark.both_databases
def test_a_second_file_takes_the_place_of_the_first(client, run):
    bring(client, run, JUDGED)
    first = JudgedRun.objects.get().file
    bring(client, run, said("A", 1, 1, 1))
    assert JudgedRun.objects.count() == 1
    assert not storage.statistics_file_storage.exists(first)


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (["nonsense"], "not JSON"),
        ([{**JUDGED[0], "recall": 7}], "“recall” is 7"),
        (
            [{**JUDGED[0], "claim": "<i>Snow</i>"}],
            "the run has no claim “&lt;i&gt;Snow&lt;/i&gt;” of q1",
        ),
        ([""], "there is no judgement in it"),
    ],
)
def test_a_bad_file_is_refused_by_line_and_the_one_before_stays(
    client, run, lines, found
):
    bring(client, run, JUDGED)
    told = bring(client, run, [*lines]).content.decode()
    assert "This file cannot be taken. Nothing was stored." in told
    assert found in told
    after = client.get(page(run)).content.decode()
    assert "people.jsonl" in after
    assert "A 1.000" in after
    assert JudgedRun.objects.count() == 1


def test_the_page_is_for_organisers_alone(client, run):
    for person in (make_user(), run.submitted_by):
        client.force_login(person)
        assert client.get(page(run)).status_code == 404
        assert bring(client, run, JUDGED).status_code == 404
    assert not JudgedRun.objects.exists()


def test_a_run_without_claims_has_no_such_page(client, organiser, tmp_path):
    phase = citing_phase(tmp_path / "other", organiser=organiser)
    waiting = citing_run(phase, team=make_team(season=phase.task.season))
    assert client.get(page(waiting)).status_code == 404


def test_judgements_of_claims_that_are_no_longer_there_are_said_to_be_outdated(
    client, run, tmp_path
):
    bring(client, run, JUDGED)
    evaluation = run.evaluations.get()
    other = citing_run(run.phase, f"{CLAIM} [1].")
    for job in other.jobs.all():
        score(job.pk)
    type(evaluation).objects.filter(pk=evaluation.pk).update(
        statistics=other.evaluations.get().statistics
    )
    told = client.get(page(run)).content.decode()
    assert "no longer those that were judged" in told


def settle(client, run, how: str):
    return client.post(
        reverse(f"submission-judgements-{how}", args=[run.pk]), follow=True
    )


@pytest.mark.both_databases
def test_published_ratings_are_columns_of_the_board_for_everybody_until_they_are_taken_back(
    client, run, organiser
):
    bring(client, run, JUDGED)
    assert "Human" not in text_of(client.get(boards.address("board", run.phase)))
    assert "The ratings are on the board." in text_of(settle(client, run, "publish"))
    client.logout()
    told = text_of(client.get(boards.address("board", run.phase)))
    assert (
        "People's judgement: Human utility, Human citation utility. Each is a mean"
        in told
    )
    [row] = json.loads(client.get(boards.address("board-json", run.phase)).content)[
        "rows"
    ]
    assert row["scores"]["human_utility"] == {"value": 3.0, "low": None, "high": None}
    assert row["scores"]["human_citation_utility"]["value"] == 1.0
    head = (
        client.get(boards.address("board-csv", run.phase))
        .content.decode()
        .splitlines()[0]
    )
    assert "human_citation_utility" in head
    assert (
        "Human citation utility"
        in client.get(boards.address("board-tex", run.phase)).content.decode()
    )
    answer = client.get(reverse("api:leaderboard", args=[run.phase_id])).json()
    assert "human_citation_utility" in json.dumps(answer["rows"])
    client.force_login(organiser)
    assert "The ratings are off the board." in text_of(settle(client, run, "take-back"))
    assert "Human" not in text_of(client.get(boards.address("board", run.phase)))
    assert (
        "the ratings are not on the board"
        in text_of(settle(client, run, "take-back")).lower()
    )


def test_a_published_rating_says_on_what_it_rests(client, run):
    bring(client, run, JUDGED)
    settle(client, run, "publish")
    score = HumanScore.objects.get(criterion="citation_utility")
    place = [run.phase.task.season.slug, run.phase.task.slug, run.phase.slug, run.pk]
    told = text_of(client.get(reverse("standing", args=place) + f"?score=-{score.pk}"))
    assert "from 0 to 1, and this is the mean over 1 response." in told
    assert (
        f"|responses:1|n:1|annotators:1|fleiss:none|alpha:none|file:{run.judged.sha256[:12]}"
        in told
    )
    assert "Human evaluation" in text_of(client.get(reverse("standing", args=place)))


def test_with_published_ratings_everybody_reads_how_metrics_agree_with_them_and_with_nothing_else(
    client, run
):
    bring(client, run, JUDGED)
    settle(client, run, "publish")
    client.logout()
    told = text_of(
        client.get(boards.address("people", run.phase) + "?criterion=citation_utility")
    )
    assert "people's judgement of citation utility: over" in told
    assert "recall: over" not in text_of(
        client.get(boards.address("people", run.phase) + "?criterion=recall")
    )


@pytest.mark.both_databases
def test_another_file_takes_the_ratings_of_the_first_off_the_board_and_the_history_tells_it(
    client, run
):
    bring(client, run, JUDGED)
    settle(client, run, "publish")
    bring(client, run, JUDGED[-1:])
    assert not HumanScore.objects.exists()
    assert JudgedRun.objects.get().published_at is None
    words = [entry.words for entry in AuditEntry.objects.order_by("pk")]
    assert words[-4:] == [
        f"brought people's judgements of {run}",
        f"put people's ratings of {run} on the board",
        f"took people's ratings of {run} off the board",
        f"brought people's judgements of {run}",
    ]


def test_claims_alone_and_what_stands_there_already_are_not_published(client, run):
    assert (
        "nobody has judged the run yet"
        in text_of(settle(client, run, "publish")).lower()
    )
    bring(client, run, said("A", 1, 0, 1))
    assert (
        "no whole response is rated in the file"
        in text_of(settle(client, run, "publish")).lower()
    )
    assert not HumanScore.objects.exists()
    bring(client, run, JUDGED)
    settle(client, run, "publish")
    assert (
        "the ratings are on the board already"
        in text_of(settle(client, run, "publish")).lower()
    )


def test_ratings_can_be_taken_off_the_board_while_the_run_has_no_claims(client, run):
    bring(client, run, JUDGED)
    settle(client, run, "publish")
    run.evaluations.all().delete()
    assert "no longer those that were judged. The run has no claims yet" in text_of(
        client.get(page(run))
    )
    assert "The ratings are off the board." in text_of(settle(client, run, "take-back"))
    assert not HumanScore.objects.exists()


def test_a_board_that_hides_numbers_or_was_frozen_before_does_not_show_them(
    client, run
):
    bring(client, run, JUDGED)
    settle(client, run, "publish")
    client.logout()
    board = boards.address("board", run.phase)
    assert "Human utility" in text_of(client.get(board))
    JudgedRun.objects.update(published_at=now() + dt.timedelta(hours=1))
    Phase.objects.filter(pk=run.phase_id).update(
        frozen_from=now(), version=F("version") + 1
    )
    frozen = text_of(client.get(board))
    assert run.system in frozen
    assert "Human utility" not in frozen
    Phase.objects.filter(pk=run.phase_id).update(
        frozen_from=None, board="ranks", version=F("version") + 1
    )
    ranks = text_of(client.get(board))
    assert run.system in ranks
    assert "Human utility" not in ranks


def test_a_board_without_names_of_teams_shows_them(client, run):
    bring(client, run, JUDGED)
    settle(client, run, "publish")
    Phase.objects.filter(pk=run.phase_id).update(
        shows_teams=False, version=F("version") + 1
    )
    client.logout()
    told = text_of(client.get(boards.address("board", run.phase)))
    assert "Human utility" in told
    assert run.team.name not in told


def test_nobody_else_publishes_them_or_takes_them_back(client, run):
    bring(client, run, JUDGED)
    for person in (make_user(), run.submitted_by):
        client.force_login(person)
        for how in ("publish", "take-back"):
            assert settle(client, run, how).status_code == 404
    assert not HumanScore.objects.exists()


def test_the_command_prints_the_agreement_and_refuses_by_line(run, tmp_path):
    path = write_lines(tmp_path / "people.jsonl", JUDGED)
    call_command(
        "import_judgements", str(run.pk), str(path), stdout=(out := StringIO())
    )
    assert json.loads(out.getvalue())["recall"]["cohen"]["A"] == 1
    assert not HumanScore.objects.exists()
    call_command(
        "import_judgements", str(run.pk), str(path), "--publish", stdout=StringIO()
    )
    assert {score.criterion for score in HumanScore.objects.all()} == {
        "utility",
        "citation_utility",
    }
    claims = write_lines(tmp_path / "claims.jsonl", said("A", 1, 0, 1))
    with pytest.raises(
        CommandError, match="the judgements are kept; not published: no whole response"
    ):
        call_command(
            "import_judgements",
            str(run.pk),
            str(claims),
            "--publish",
            stdout=StringIO(),
        )
    bad = write_lines(tmp_path / "bad.jsonl", ["nonsense"])
    with pytest.raises(CommandError, match=r"bad\.jsonl:1: not JSON"):
        call_command("import_judgements", str(run.pk), str(bad))
    with pytest.raises(CommandError, match="there is no run 0"):
        call_command("import_judgements", "0", str(path))
