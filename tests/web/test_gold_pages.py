"""A correction of the gold, as organisers make it, teams learn of it and readers see what it changed."""

import io
import json
import re
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from citeboard.core.models import AuditEntry
from citeboard.teams.models import User
from scoring.results.board.standings import compute_board
from tasks.models import Gold, Job, Phase, Submission
from tests import factories
from tests.api.sending import score
from tests.kept_worlds import KeptWorld, keep_world
from tests.scoring import boards
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db
#: The corpus with the first citance's sentence corrected from 1 to 4.
CORRECTED = (("D05-0001", "3", ["4"], "Method_Citation"), factories.CITANCES[1])
REASON = "Citance 1 cites the fourth sentence"


def make_phase() -> tuple[User, Phase]:
    organiser = factories.make_user(name="Olga")
    season = factories.make_season(organiser=organiser)
    return organiser, factories.make_phase(task=factories.make_task(season=season))


def make_runs() -> tuple[User, Phase, dict[str, Submission]]:
    """By the sentence that they answer throughout: one leads before the correction, the other after it."""
    organiser, phase = make_phase()
    found = {}
    for sentence in ("1", "4"):
        team = factories.make_team(season=phase.task.season, name=f"Team {sentence}")
        content = factories.run_bytes(sentences=(sentence,))
        found[sentence] = factories.make_submission(
            phase=phase, team=team, content=content, system=f"Always {sentence}"
        )
        score(found[sentence])
    return organiser, phase, found


@pytest.fixture(scope="module")
def kept(django_db_setup, django_db_blocker) -> KeptWorld:
    return keep_world(make_runs, django_db_blocker)


@pytest.fixture
def world(request, db, kept) -> tuple:
    return kept() if "runs" in request.fixturenames else make_phase()


@pytest.fixture
def organiser(world) -> User:
    return world[0]


@pytest.fixture
def phase(world) -> Phase:
    return world[1]


@pytest.fixture
def runs(world) -> dict[str, Submission]:
    return world[2]


def archive(tmp_path, citances=CORRECTED) -> SimpleUploadedFile:
    folder = factories.write_corpus(tmp_path / "corpus", citances=citances)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        for path in sorted(each for each in folder.rglob("*") if each.is_file()):
            packed.write(path, path.relative_to(tmp_path))
    return SimpleUploadedFile("gold v2.zip", out.getvalue())


def send(client, phase, file, reason=REASON, **changes):
    form = {
        "split": f"{phase.task_id}/{phase.split}",
        "file": file,
        "reason": reason,
    } | changes
    given = {name: value for name, value in form.items() if value is not None}
    return client.post(
        reverse("organise-gold", args=[phase.task.season.slug]), given, follow=True
    )


def act(client, name, *arguments):
    return client.post(reverse(name, args=arguments), follow=True)


def source(response) -> str:
    return re.sub(r"\s+", " ", response.content.decode())


def page(client, phase) -> str:
    return text_of(client.get(reverse("organise-gold", args=[phase.task.season.slug])))


def corrected(client, phase, runs, organiser, tmp_path) -> None:
    client.force_login(organiser)
    assert send(client, phase, archive(tmp_path)).status_code == 200
    for run in runs.values():
        score(run)
    phase.refresh_from_db()
    client.logout()


def test_the_versions_stand_with_their_reasons(client, phase, runs, organiser):
    client.force_login(organiser)
    gold = phase.task.gold.get()
    told = page(client, phase)
    assert "v1 now" in told
    assert "first release" in told
    assert gold.digest[:12] in told
    assert "2 runs scored against v1" in told


@pytest.mark.both_databases
def test_a_correction_has_every_run_scored_again_in_the_background(
    client, phase, runs, organiser, tmp_path
):
    client.force_login(organiser)
    told = source(send(client, phase, archive(tmp_path)))
    assert "All runs are scored against it." in told
    assert "0 of 2 runs scored against v2" in told
    assert "2 scorings in the queue" in told
    assert 'hx-trigger="every 3s"' in told
    assert Gold.objects.get(number=2).reason == REASON
    assert AuditEntry.objects.filter(action="gold-added", actor=organiser).exists()
    score(runs["1"])
    assert "1 of 2 runs scored against v2" in page(client, phase)
    score(runs["4"])
    told = source(client.get(reverse("organise-gold", args=[phase.task.season.slug])))
    assert "2 runs scored against v2" in told
    assert "hx-trigger" not in told


def test_what_is_odd_about_gold_is_told_to_its_organisers_and_to_nobody_else(client):
    organiser = factories.make_user()
    season = factories.make_season(organiser=organiser)
    task = factories.make_task(season=season, type="citation-text", slug="texts")
    phase = factories.make_phase(task=task, with_gold=False)
    records = [
        {"id": name, "input": [abstract], "target": target}
        for name, abstract, target in (
            ("a", "One abstract.", "It says this [0]."),
            ("b", "One abstract.", "It says this [0]."),
            ("c", "One abstract.", "It says that [0]."),
            ("\u200bd", "Another abstract.", "It says more [0]."),
        )
    ]
    client.force_login(organiser)
    lines = "".join(f"{json.dumps(record)}\n" for record in records)
    send(client, phase, SimpleUploadedFile("texts.jsonl", lines.encode()))
    told = page(client, phase)
    assert (
        "One instance shows and answers the same as another one: it counts twice. One abstract."
        in told
    )
    assert (
        "One instance shows the same as another one, with another answer. One abstract."
        in told
    )
    assert r"holds characters that nobody sees: \u200bd" in told
    assert {finding["kind"] for finding in Gold.objects.get().findings} == {
        "doubled",
        "contradicted",
        "names",
    }


def test_units_of_one_instance_and_what_another_split_has_too_are_told_at_upload(
    client, organiser
):
    """Before it is published and on the page of the gold, which nobody but organisers reads."""
    task = factories.make_task(
        season=factories.make_season(organiser=organiser),
        type="citation-text",
        options={"unit": "paper"},
    )
    dev, test = (
        factories.make_phase(
            task=task, slug=split, split=split, with_gold=False, shows_instances=True
        )
        for split in ("dev", "test")
    )

    def lines(*texts: str) -> SimpleUploadedFile:
        rows = [
            {
                "id": f"i{place}",
                "paper": f"P{min(place, 1)}",
                "input": [text],
                "target": "It says so [0].",
            }
            for place, text in enumerate(texts)
        ]
        return SimpleUploadedFile(
            "t.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows).encode()
        )

    browser = Client()
    for each in (client, browser):
        each.force_login(organiser)
    send(client, dev, lines("One.", "Two.", "Three."))
    asked = send(browser, test, lines("Four.", "two.", "Five."))
    shared = f"v1 has in common with {task}, dev, v1: scored instances: 1, instances in the files: 1, papers: 2"  # noqa: E501
    assert f"In other splits too {shared} Who will see" in text_of(asked)
    assert not task.gold.filter(split="test").exists()
    again = {"stored": dict(asked.context["posted"])["stored"]}
    send(browser, test, None, rehearsed=asked.context["rehearsal"].digest, **again)
    told = page(browser, test)
    assert shared in told
    assert (
        "One unit has one instance alone: intervals and tests resample whole units. P0"
        in told
    )


def test_the_board_moves_when_the_last_run_is_through_and_the_old_one_stays(
    client, phase, runs, organiser, tmp_path
):
    client.force_login(organiser)
    send(client, phase, archive(tmp_path))
    score(runs["1"])
    assert compute_board(Phase.objects.get(pk=phase.pk), None).gold.number == 1
    score(runs["4"])
    phase = Phase.objects.get(pk=phase.pk)
    assert [row.system for row in compute_board(phase, None).rows] == [
        "Always 4",
        "Always 1",
    ]
    old = text_of(client.get(boards.address("board", phase) + "?gold=1"))
    assert old.index("Always 1") < old.index("Always 4")
    assert "This is the board on gold v1" in old


def test_readers_see_which_ranks_have_changed_and_why(
    client, phase, runs, organiser, tmp_path
):
    corrected(client, phase, runs, organiser, tmp_path)
    board = source(client.get(boards.address("board", phase)))
    assert '<a href="changes/?gold=2">What gold v2 changed</a>' in board
    told = source(client.get(boards.address("gold-changes", phase)))
    assert REASON in told
    assert "2 ranks differ from v1" in told
    rows = re.findall(
        r'<span class="system">(Always \d)</span>.*?<td class="n">(\d)</td> <td class="n">(\d)<',
        told,
    )
    assert rows == [("Always 4", "2", "1"), ("Always 1", "1", "2")]
    assert "This is the first version" in text_of(
        client.get(boards.address("gold-changes", phase) + "?gold=1")
    )


def test_while_runs_wait_the_changes_are_those_known_so_far(
    client, phase, runs, organiser, tmp_path
):
    client.force_login(organiser)
    send(client, phase, archive(tmp_path))
    score(runs["4"])
    told = text_of(client.get(boards.address("gold-changes", phase)))
    assert "1 run still waits to be scored against v2" in told


@pytest.mark.parametrize(
    ("board", "status", "number"), [("ranks", 200, False), ("nobody", 404, False)]
)
def test_changes_show_no_more_than_the_board(
    client, phase, runs, organiser, tmp_path, board, status, number
):
    corrected(client, phase, runs, organiser, tmp_path)
    shown = client.get(boards.address("gold-changes", phase))
    assert "0.4" in text_of(shown)
    Phase.objects.filter(pk=phase.pk).update(board=board)
    hidden = client.get(boards.address("gold-changes", phase))
    assert hidden.status_code == status
    assert ("0.4" in text_of(hidden)) is number
    assert ("Always 4" in text_of(hidden)) is (status == 200)


def test_a_team_learns_that_its_score_changed_and_why(
    client, phase, runs, organiser, tmp_path
):
    run = runs["1"]
    client.force_login(run.submitted_by)
    address = reverse("submission", args=[run.pk])
    assert "The gold was corrected" not in text_of(client.get(address))
    corrected(client, phase, runs, organiser, tmp_path)
    client.force_login(run.submitted_by)
    told = text_of(client.get(address))
    assert "this run was rescored: Citance 1 cites the fourth sentence." in told
    assert re.search(
        r"Overlap F1, micro was 0\.\d+ on gold v1 and is 0\.0000 on v2", told
    )
    assert "its rank was 1 and is 2" in told


def test_where_nobody_sees_scores_a_team_learns_no_number_by_a_correction(
    client, phase, runs, organiser, tmp_path
):
    Phase.objects.filter(pk=phase.pk).update(board="nobody")
    corrected(client, phase, runs, organiser, tmp_path)
    client.force_login(runs["1"].submitted_by)
    assert "was rescored" not in text_of(
        client.get(reverse("submission", args=[runs["1"].pk]))
    )


@pytest.mark.both_databases
def test_the_same_gold_again_changes_nothing(client, phase, runs, organiser, tmp_path):
    client.force_login(organiser)
    told = text_of(send(client, phase, archive(tmp_path, factories.CITANCES)))
    assert "This is gold v1 as it is; nothing has changed." in told
    assert (Gold.objects.count(), Job.objects.filter(state="queued").count()) == (1, 0)


def test_a_file_that_is_no_gold_is_refused_with_all_that_is_wrong(
    client, phase, runs, organiser
):
    client.force_login(organiser)
    response = send(client, phase, SimpleUploadedFile("gold.zip", b"no zip at all"))
    assert response.status_code == 422
    told = text_of(response)
    assert "Nothing was stored." in told
    assert "citeboard-gold-" not in told
    assert Gold.objects.count() == 1


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"reason": "  "}, "Say what is new or was corrected."),
        ({"file": None}, "Choose the file that holds the gold."),
        ({"split": "0/none"}, "Select a valid choice"),
    ],
)
def test_a_correction_needs_a_file_a_reason_and_a_split(
    client, phase, organiser, tmp_path, changes, said
):
    client.force_login(organiser)
    response = send(client, phase, **{"file": archive(tmp_path)} | changes)
    assert response.status_code == 422
    assert said in text_of(response)
    assert Gold.objects.count() == 1


def test_gold_larger_than_an_upload_may_be_is_refused_in_words(
    client, phase, organiser, tmp_path, settings
):
    client.force_login(organiser)
    settings.UPLOAD_MAX_MB = 0
    response = send(client, phase, archive(tmp_path))
    assert response.status_code == 422
    assert Gold.objects.count() == 1


@pytest.mark.both_databases
def test_scoring_again_is_stopped_and_goes_on_by_buttons(
    client, phase, runs, organiser, tmp_path
):
    client.force_login(organiser)
    send(client, phase, archive(tmp_path))
    score(runs["1"])
    season = phase.task.season.slug
    told = source(act(client, "organise-rescore-stop", season, phase.pk))
    assert "1 scoring taken out of the queue" in told
    assert "stopped" in told
    assert ">Go on<" in told
    told = source(act(client, "organise-rescore", season, phase.pk))
    assert "1 scoring in the queue" in told
    assert ">Stop<" in told
    score(runs["4"])
    assert Job.objects.filter(state="queued").count() == 0


def test_a_whole_season_is_looked_through(client, phase, runs, organiser):
    client.force_login(organiser)
    factories.make_gold(phase=phase, citances=CORRECTED, reason="by the command")
    told = source(act(client, "organise-rescore-season", phase.task.season.slug))
    assert "Runs of 1 phase are looked through" in told
    assert Job.objects.filter(state="queued").count() == 2


def test_one_run_is_scored_again_from_its_page_by_organisers_alone(
    client, phase, runs, organiser
):
    run = runs["1"]
    address = reverse("submission", args=[run.pk])
    client.force_login(run.submitted_by)
    assert "Rescore this run" not in text_of(client.get(address))
    assert act(client, "submission-rescore", run.pk).status_code == 404
    client.force_login(organiser)
    assert "Rescore this run" in text_of(client.get(address))
    assert "The run is rescored." in text_of(act(client, "submission-rescore", run.pk))
    assert "rescored already" in text_of(act(client, "submission-rescore", run.pk))
    assert run.jobs.get().state == "queued"


@pytest.mark.both_databases
def test_the_page_costs_the_same_queries_however_many_runs_there_are(
    client, phase, runs, organiser
):
    client.force_login(organiser)
    few = queries(lambda: page(client, phase))
    for _ in range(4):
        score(factories.make_submission(phase=phase))
    assert queries(lambda: page(client, phase)) == few


def queries(call) -> int:
    with CaptureQueriesContext(connection) as made:
        call()
        return len(made)


@pytest.mark.both_databases
def test_what_an_earlier_version_holds_is_published_again_only_when_asked_to(
    client, phase, organiser, tmp_path
):
    client.force_login(organiser)
    send(client, phase, archive(tmp_path / "two"))
    before = archive(tmp_path / "one", citances=factories.CITANCES)
    told = text_of(send(client, phase, before))
    assert "This is the content of v1 of" in told
    assert "Publish what an earlier version holds again" in told
    assert phase.task.gold.count() == 2
    before.seek(0)
    assert "Gold v3 of" in text_of(send(client, phase, before, again="on"))


def test_one_file_is_the_gold_of_several_tasks_or_of_none(
    client, phase, organiser, tmp_path
):
    client.force_login(organiser)
    other = factories.make_task(season=phase.task.season, type="clsumm-1b")
    facets = factories.make_phase(task=other, with_gold=False)
    summary = factories.make_task(
        season=phase.task.season, type="citation-text", rules=["corrected"]
    )
    texts = factories.make_phase(task=summary, with_gold=False)
    # Nothing of it is secret.
    Phase.objects.update(shows_instances=True)
    refused = send(
        client, phase, archive(tmp_path / "a"), also=[f"{summary.pk}/{texts.split}"]
    )
    assert refused.status_code == 422
    assert Gold.objects.count() == 1
    told = text_of(
        send(
            client, phase, archive(tmp_path / "b"), also=[f"{other.pk}/{facets.split}"]
        )
    )
    assert f"Gold v2 of {phase.task}" in told
    assert f"Gold v1 of {other}" in told
    assert AuditEntry.objects.filter(action="gold-added").count() == 2


def test_the_command_asks_before_it_goes_back_to_an_earlier_version(phase, tmp_path):
    factories.make_gold(phase=phase, citances=CORRECTED)
    before = factories.write_corpus(tmp_path / "corpus", citances=factories.CITANCES)
    name = f"{phase.task.season.slug}/{phase.task.slug}"
    given = ("load_gold", name, str(before), "--reason", "The correction was wrong")
    with pytest.raises(CommandError, match="is to be published again, by --again"):
        call_command(*given, stdout=io.StringIO())
    call_command(*given, "--again", stdout=io.StringIO())
    assert phase.task.gold.count() == 3
