"""Labels belong to the season whose organisers brought them, unless the site's staff shares them."""

import json
from io import StringIO

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.urls import reverse

from citeboard.core.models import AuditEntry
from citeboard.teams.models import Token
from scoring.models import Judge, Judgement, PendingLabels
from scoring.worker.entailment_labels import import_labels
from scoring.worker.score import score
from tasks.models import Job
from tests.background.background import followed
from tests.factories import make_user
from tests.scoring.citing import (
    MODEL,
    PAIRS,
    citing_phase,
    citing_run,
    decided,
    write_lines,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]


@pytest.fixture
def staff():
    return make_user(is_staff=True)


@pytest.fixture
def organisers():
    return make_user(), make_user()


@pytest.fixture
def phases(tmp_path, organisers):
    """Two seasons of one model, each with an organiser of its own."""
    return [
        citing_phase(tmp_path / name, organiser=person)
        for name, person in zip("ab", organisers, strict=True)
    ]


def work(*runs) -> None:
    for job in Job.objects.filter(submission__in=runs, state=Job.State.QUEUED).order_by(
        "pk"
    ):
        score(job.pk)


def address(phase, name: str = "organise-models") -> str:
    return reverse(name, args=[phase.task.season.slug])


def bring(client, person, phase, lines):
    client.force_login(person)
    content = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    file = SimpleUploadedFile("labels.jsonl", content)
    return followed(client, client.post(address(phase), {"model": MODEL, "file": file}))


def share(client, person, phase, model: str = MODEL):
    client.force_login(person)
    return client.post(
        address(phase, "organise-labels-share"), {"model": model}, follow=True
    )


def share_from_the_shell(tmp_path, lines) -> None:
    import_labels(
        path=write_lines(tmp_path / "all.jsonl", lines), filename="all.jsonl", by=None
    )


def status(run) -> str:
    run.refresh_from_db()
    return run.status


def recall(run) -> tuple[float, str]:
    evaluation = run.evaluations.get()
    return evaluation.scores.get(
        shared__metric="aliice_recall"
    ).value, evaluation.labels_digest


def contrary() -> list[dict]:
    return decided(entailed=lambda _: 0)


def downloaded(client, person, phase) -> dict[str, int]:
    client.force_login(person)
    response = client.get(address(phase, "organise-labels"), {"model": MODEL})
    lines = [json.loads(line) for line in response.getvalue().splitlines()][1:]
    return {
        line["premise_sha256"] + line["hypothesis_sha256"]: line["entailed"]
        for line in lines
    }


def test_a_run_waits_for_labels_of_its_own_season_and_goes_on_with_them(
    client, phases, organisers
):
    runs = [citing_run(phase) for phase in phases]
    work(*runs)
    told = bring(client, organisers[0], phases[0], decided()).content.decode()
    assert f"6 labels of {MODEL} added. 1 scoring continued." in told
    work(*runs)
    assert [status(run) for run in runs] == ["scored", "waiting"]
    bring(client, organisers[1], phases[1], decided())
    work(*runs)
    assert status(runs[1]) == "scored"
    # The digest of the labels is an HMAC with the nonce of each gold.
    assert recall(runs[0])[0] == recall(runs[1])[0]


def test_another_season_s_organiser_changes_no_label_that_scores_rest_on(
    client, phases, organisers
):
    runs = [citing_run(phase) for phase in phases]
    bring(client, organisers[0], phases[0], decided())
    work(*runs)
    before = recall(runs[0])
    told = bring(client, organisers[1], phases[1], contrary())
    assert told.status_code == 200
    again = citing_run(phases[0])
    work(runs[1], again)
    assert recall(again) == recall(runs[0]) == before
    assert before[0] == 100
    assert recall(runs[1])[0] == 0
    assert recall(runs[1])[1] != before[1]
    assert set(downloaded(client, organisers[0], phases[0]).values()) == {0, 1}
    assert bring(client, organisers[1], phases[0], contrary()).status_code == 404


def test_another_season_s_organiser_does_not_see_its_labels(client, phases, organisers):
    bring(client, organisers[0], phases[0], decided())
    client.force_login(organisers[1])
    told = client.get(address(phases[1])).content.decode()
    assert "no labels of this season, 0 shared by all seasons" in told
    assert "Imported so far" not in told
    assert (
        client.get(address(phases[1], "organise-labels"), {"model": MODEL}).status_code
        == 404
    )
    told = bring(client, organisers[1], phases[1], decided(PAIRS[0])).content.decode()
    assert f"1 label of {MODEL} added." in told
    assert "were there" not in told
    assert len(downloaded(client, organisers[1], phases[1])) == 1


def test_staff_shares_a_season_s_labels_and_runs_of_others_go_on(
    client, phases, organisers, staff
):
    runs = [citing_run(phase) for phase in phases]
    bring(client, organisers[0], phases[0], decided())
    work(*runs)
    assert status(runs[1]) == "waiting"
    client.force_login(staff)
    assert (
        address(phases[0], "organise-labels-share")
        in client.get(address(phases[0])).content.decode()
    )
    told = share(client, staff, phases[0]).content.decode()
    assert f"6 labels of {MODEL} added for all seasons. 1 scoring continued." in told
    work(*runs)
    assert status(runs[1]) == "scored"
    # The digest of the labels is an HMAC with the nonce of each gold.
    assert recall(runs[0])[0] == recall(runs[1])[0]
    entry = AuditEntry.objects.get(action="labels-shared")
    assert (entry.words, entry.place_id) == (
        f"shared 6 labels of {MODEL} with all seasons",
        phases[0].task.season_id,
    )
    assert "6 others were there" in share(client, staff, phases[0]).content.decode()
    assert Judgement.objects.count() == 12
    client.force_login(organisers[1])
    told = client.get(address(phases[1])).content.decode()
    assert "no labels of this season, 6 shared by all seasons" in told
    assert str(staff) not in told


def test_staff_shares_a_season_s_labels_by_token_too(client, phases, organisers, staff):
    bring(client, organisers[0], phases[0], decided())
    path = reverse("api:share-labels", args=[phases[0].task.season.slug])
    headers = {
        "Authorization": f"Token {Token.objects.create_token(user=staff, name='staff')[1]}"
    }
    answers = [
        client.post(path, {"model": MODEL}, "application/json", headers=headers).json()
        for _twice in range(2)
    ]
    assert answers == [
        {"added": 6, "known": 0, "resumed": 0},
        {"added": 0, "known": 6, "resumed": 0},
    ]
    nobody_asks = client.post(
        path, {"model": "another"}, "application/json", headers=headers
    )
    assert nobody_asks.status_code == 404


def test_an_organiser_shares_nothing(client, phases, organisers, staff):
    bring(client, organisers[0], phases[0], decided())
    told = client.get(address(phases[0])).content.decode()
    assert "Share this season" not in told
    for person in organisers:
        assert share(client, person, phases[0]).status_code == 404
    assert share(client, staff, phases[0], model="another").status_code == 404
    assert share(client, staff, phases[1]).status_code == 404
    assert not Judge.objects.filter(season=None).exists()


def test_a_season_s_own_labels_go_before_shared_ones(
    client, phases, organisers, staff, tmp_path
):
    bring(client, organisers[1], phases[1], contrary())
    share_from_the_shell(tmp_path, decided())
    runs = [citing_run(phase) for phase in phases]
    work(*runs)
    assert [recall(run)[0] for run in runs] == [100, 0]
    assert set(downloaded(client, organisers[1], phases[1]).values()) == {0}
    told = share(client, staff, phases[1]).content.decode()
    assert "4 of these labels contradict those that all seasons share" in told
    assert Judge.objects.get(season=None).decided == 6


def test_a_season_contradicts_no_shared_label_and_adds_to_them(
    client, phases, organisers, tmp_path
):
    share_from_the_shell(tmp_path, decided(*PAIRS[:3]))
    refused = bring(client, organisers[0], phases[0], contrary())
    assert "This file cannot be taken." in refused.content.decode()
    assert "this pair is stored as 1" in refused.content.decode()
    told = bring(client, organisers[0], phases[0], decided()).content.decode()
    assert f"3 labels of {MODEL} added, 3 others were there." in told
    run = citing_run(phases[0])
    work(run)
    assert status(run) == "scored"
    assert len(downloaded(client, organisers[0], phases[0])) == 6


def test_what_waited_before_labels_had_seasons_goes_on_with_either(
    client, phases, organisers, tmp_path
):
    runs = [citing_run(phase) for phase in phases]
    work(*runs)
    shared = Judge.objects.create(name=MODEL, kind="entails")
    PendingLabels.objects.update(judge=shared)
    bring(client, organisers[0], phases[0], decided())
    work(*runs)
    assert [status(run) for run in runs] == ["scored", "waiting"]
    share_from_the_shell(tmp_path, decided())
    work(*runs)
    assert status(runs[1]) == "scored"


def test_commands_keep_labels_for_one_season_or_for_all(phases, tmp_path):
    own = str(write_lines(tmp_path / "own.jsonl", decided(*PAIRS[:2])))
    shared = str(write_lines(tmp_path / "shared.jsonl", decided(*PAIRS[1:])))
    slug = phases[0].task.season.slug
    call_command("import_labels", own, "--season", slug, stdout=StringIO())
    call_command("import_labels", shared, stdout=StringIO())

    def exported(*words: str) -> int:
        call_command("export_labels", MODEL, *words, stdout=(out := StringIO()))
        return len(out.getvalue().splitlines()) - 1

    assert (exported(), exported("--season", slug)) == (5, 6)
    assert exported("--season", phases[1].task.season.slug) == 5
    for words in (["import_labels", own], ["export_labels", MODEL]):
        with pytest.raises(CommandError, match="there is no season “nowhere”"):
            call_command(*words, "--season", "nowhere")
