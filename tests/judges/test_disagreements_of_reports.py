"""Sheets of citations of reports on which two judges disagree."""

import json
from io import StringIO

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.urls import reverse

from citeboard.core import storage
from scoring.human.disagreements import (
    DisagreementRequest,
    build_lines_for_people_to_label,
    count_ledger_labels,
    list_judges_to_compare,
    sample_disagreements,
    save_disagreement_sheet,
)
from scoring.human.estimates import store_sheet_file
from scoring.human.sheets import SheetRefused
from scoring.models import EstimateSheet, Judgement
from scoring.worker.entailment_labels import import_labels
from tests import factories
from tests.background.background import followed
from tests.judges.test_labels_of_reports import (
    DOCUMENT,
    JUDGE,
    OTHER,
    RIGHT,
    VIEW,
    WRONG,
    labelled,
    report_run,
    reports_phase,
)
from tests.scoring.citing import score_queued, write_lines
from tests.web.reading import text_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]


@pytest.fixture
def organiser(db):
    return factories.make_user()


@pytest.fixture
def bring(tmp_path):
    def bring(phase, judge, *rows):
        head = {"kind": "supports", "judge": judge}
        path = write_lines(tmp_path / "rows.jsonl", [head, *rows])
        season = phase.task.season
        import_labels(path=path, filename=path.name, by=None, season=season)

    return bring


@pytest.fixture
def phase(tmp_path, organiser, bring):
    """Return a phase whose judges disagree on one of the two citations of its run."""
    phase = reports_phase(tmp_path, rules=["corrected", VIEW], organiser=organiser)
    bring(phase, JUDGE, labelled(RIGHT, "full"), labelled(WRONG, "none"))
    bring(phase, OTHER, labelled(RIGHT, "partial"), labelled(WRONG, "none"))
    report_run(phase)
    score_queued()
    return phase


def asked(phase, **changes) -> DisagreementRequest:
    return DisagreementRequest(
        **{"phase": phase, "judge": OTHER, "pairs": 10, "seed": "1", **changes}
    )


@pytest.fixture
def sheet(phase, organiser):
    found = sample_disagreements(asked(phase), organiser)
    lines = store_sheet_file(build_lines_for_people_to_label(asked(phase), found))
    return save_disagreement_sheet(asked(phase), found, lines, by=organiser)


def form_of(sheet) -> list[dict]:
    with storage.statistics_file_storage.open(sheet.file) as file:
        return [json.loads(line) for line in file.read().splitlines()]


def upload(client, sheet, *lines) -> str:
    content = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    season = sheet.phase.task.season.slug
    address = reverse("organise-estimates-labels", args=[season, sheet.pk])
    file = SimpleUploadedFile("people.jsonl", content)
    return text_of(followed(client, client.post(address, {"file": file})))


def test_a_sheet_has_the_citations_that_two_judges_label_differently(sheet):
    head, *rows = form_of(sheet)
    assert (head["kind"], head["judge"]) == ("supports", "people")
    assert rows == [{"texts": {"sentence": RIGHT, "document": DOCUMENT}, "label": ""}]
    assert (sheet.result["common"], sheet.result["differing"]) == (2, 1)


def test_labels_under_another_form_of_the_document_are_compared(
    phase, organiser, bring
):
    Judgement.objects.filter(judge__name=OTHER).delete()
    title = f"Title: {DOCUMENT}"
    bring(phase, OTHER, *(labelled(one, "partial", title) for one in (RIGHT, WRONG)))
    found = sample_disagreements(asked(phase), organiser)
    assert (found.common, found.differing) == (2, 2)


def test_people_s_labels_of_citations_return_to_the_ledger(sheet, organiser, client):
    client.force_login(organiser)
    head, row = form_of(sheet)
    line = {**row, "label": "partial", "by": "assessor 1"}
    assert "1 label of people added" in upload(client, sheet, head, line)
    own = Judgement.objects.get(judge__name="people")
    assert (own.label, own.by, own.judge.kind) == ("partial", "assessor 1", "supports")
    assert own.judge.digest == head["digest"]
    assert count_ledger_labels(sheet) == 1


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"label": "yes", "by": "A"}, "“label” is “yes”"),
        ({"label": "full"}, "it does not say who labelled the pair"),
        (
            {
                "label": "full",
                "by": "A",
                "texts": {"sentence": "Snow.", "document": DOCUMENT},
            },
            "the sheet has no such pair",
        ),
    ],
)
def test_labels_that_are_not_of_the_sheet_s_citations_are_refused(
    sheet, organiser, client, changed, words
):
    client.force_login(organiser)
    head, row = form_of(sheet)
    assert words in upload(client, sheet, head, {**row, **changed})
    assert not Judgement.objects.filter(judge__name="people").exists()


def test_judges_that_agree_on_all_citations_give_no_sheet(phase, organiser, bring):
    phase.task.rules = ["corrected", "corrected@support-c"]
    phase.task.save()
    with pytest.raises(SheetRefused, match="no pair has labels of both"):
        sample_disagreements(asked(phase, judge="support-c"), organiser)
    bring(phase, "support-c", labelled(RIGHT, "full"), labelled(WRONG, "none"))
    with pytest.raises(SheetRefused, match="agree on all of the 2 pairs"):
        sample_disagreements(asked(phase, judge="support-c"), organiser)


def test_a_phase_whose_labels_are_files_has_no_judges_to_compare(phase):
    phase.task.options = {}
    phase.task.rules = ["corrected"]
    assert list_judges_to_compare(phase) == []


def test_the_page_draws_a_sheet_of_citations(phase, organiser, client):
    client.force_login(organiser)
    season = phase.task.season.slug
    page = reverse("organise-estimates", args=[season])
    assert "Pairs on which judges disagree" in text_of(client.get(page))
    make = reverse("organise-disagreements-make", args=[season, phase.pk])
    answer = client.post(make, {"judge": OTHER, "pairs": 10, "seed": "7"})
    assert "The sheet is created, with 1 pair" in text_of(followed(client, answer))
    told = text_of(client.get(page))
    assert f"{JUDGE}, {OTHER} labelled 2 pairs in common and disagree on 1" in told


def test_the_command_writes_the_sheet_of_citations(phase, organiser):
    task = phase.task
    named = (task.season.slug, task.slug, phase.slug, OTHER)
    out = StringIO()
    call_command(
        "draw_disagreements",
        *named,
        "--organiser",
        organiser.email,
        "--seed",
        "1",
        stdout=out,
    )
    found = sample_disagreements(asked(phase), organiser)
    assert out.getvalue().encode() == build_lines_for_people_to_label(
        asked(phase, pairs=100), found
    )
    assert EstimateSheet.objects.get().judgements == 1
