"""People beside automatic labels on an organiser's page: kappas, ratings, and files that are refused."""

import json
from io import StringIO

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.urls import reverse

from citeboard.core import storage
from scoring.models import JudgedRun
from scoring.worker.score import score
from tests.factories import make_team, make_user
from tests.pages.reading import text_of
from tests.scoring.background import followed
from tests.scoring.citing import CLAIM, citing_gold, citing_phase, citing_run, write_lines
from tests.tasks.types.citations import RAIN, WIND

pytestmark = pytest.mark.django_db(transaction=True)

WINDY = "Wind is air that moves"


@pytest.fixture
def organiser(client):
    person = make_user()
    client.force_login(person)
    return person


@pytest.fixture
def run(tmp_path, organiser):
    phase = citing_phase(tmp_path / "phase", organiser=organiser, entailment="word-overlap")
    citing_gold(phase, tmp_path, RAIN, WIND)
    found = citing_run(phase, f"{CLAIM} [1][2]. Rome is dry [1].", f"{WINDY} [1].")
    for job in found.jobs.all():
        score(job.pk)
    return found


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
    content = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines).encode()
    sent = client.post(page(run), {"file": SimpleUploadedFile("people.jsonl", content)})
    return followed(client, sent)


def cells(told: str, title: str) -> list[str]:
    row = told.partition(title)[2].partition("</tr>")[0]
    return [each.partition(">")[2].partition("</td>")[0].strip() for each in row.split("<td")[1:]]


def test_people_and_automatic_labels_stand_side_by_side(client, run):
    assert "The judgements are kept." in text_of(bring(client, run, JUDGED))
    told = client.get(page(run)).content.decode()
    # A's mean over responses is (1/2 + 1) / 2, B's (1/2 + 0) / 2; the automatic labels are A's.
    assert cells(told, "Citation recall, claims") == [
        "3", "2", "50.00", "75.00", "A 1.0000, B 0.4000", "0.7000", "0.3333", "0.4444",
    ]  # fmt: skip
    items, annotators, people, automatic, *_ = cells(told, "Citation precision, marks")
    assert (items, annotators, people, automatic) == ("1", "1", "100.00", "0.00")
    assert cells(told, "Utility, 1 to 5")[:3] == ["1", "2", "3.0000"]
    assert "people.jsonl" in told


def test_metrics_are_held_against_judgements_for_organisers_alone(client, run):
    bring(client, run, JUDGED)
    phase = run.phase
    address = reverse("people", args=[phase.task.season.slug, phase.task.slug, phase.slug])
    assert f'href="{address}"' in client.get(page(run)).content.decode()
    told = text_of(client.get(address + "?criterion=recall"))
    assert "people's judgement of recall: over" in told
    assert "citation utility" in told
    client.logout()
    assert client.get(address).status_code == 404


def test_a_second_file_takes_the_place_of_the_first(client, run):
    bring(client, run, JUDGED)
    first = JudgedRun.objects.get().file
    bring(client, run, said("A", 1, 1, 1))
    assert JudgedRun.objects.count() == 1
    assert not storage.statistics.exists(first)


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (["nonsense"], "not JSON"),
        ([{**JUDGED[0], "recall": 7}], "“recall” is 7"),
        ([{**JUDGED[0], "claim": "<i>Snow</i>"}], "the run has no claim “&lt;i&gt;Snow&lt;/i&gt;” of q1"),
        ([""], "there is no judgement in it"),
    ],
)
def test_a_bad_file_is_refused_by_line_and_the_one_before_stays(client, run, lines, found):
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


def test_judgements_of_claims_that_are_no_longer_there_are_said_to_be_outdated(client, run, tmp_path):
    bring(client, run, JUDGED)
    evaluation = run.evaluations.get()
    other = citing_run(run.phase, f"{CLAIM} [1].")
    for job in other.jobs.all():
        score(job.pk)
    type(evaluation).objects.filter(pk=evaluation.pk).update(statistics=other.evaluations.get().statistics)
    told = client.get(page(run)).content.decode()
    assert "no longer those that were judged" in told


def test_the_command_prints_the_agreement_and_refuses_by_line(run, tmp_path):
    path = write_lines(tmp_path / "people.jsonl", JUDGED)
    call_command("import_judgements", str(run.pk), str(path), stdout=(out := StringIO()))
    assert json.loads(out.getvalue())["recall"]["cohen"]["A"] == 1
    bad = write_lines(tmp_path / "bad.jsonl", ["nonsense"])
    with pytest.raises(CommandError, match=r"bad\.jsonl:1: not JSON"):
        call_command("import_judgements", str(run.pk), str(bad))
    with pytest.raises(CommandError, match="there is no run 0"):
        call_command("import_judgements", "0", str(path))
