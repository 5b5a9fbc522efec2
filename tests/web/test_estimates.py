"""Estimated scores on a site, from the sample to the tab of the board."""

import csv
import io
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from citeboard.core import storage
from citeboard.teams.models import Token
from scoring.models import EstimateSheet
from scoring.results.board.standings import compute_board
from scoring.worker.score import score
from tasks.gold.gold_files import load_gold
from tests import factories
from tests.background.background import followed, work_off
from tests.kept_worlds import keep_world
from tests.scoring.estimating import LABELS, World, write
from tests.web.reading import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def make_world():
    """Create a phase with two scored runs on cited reports, whose judgements are among the gold."""
    organiser = factories.make_user()
    season = factories.make_season(organiser=organiser, licence="CC BY 4.0")
    task = factories.make_task(season=season, type="cited-reports")
    phase = factories.make_phase(task=task, with_gold=False, board="everyone")
    with TemporaryDirectory() as name:
        folder = Path(name)
        own = World(folder)
        rows = [
            json.loads(line)
            for kind in ("supports", "assigns")
            for line in judged_rows(own, kind)
        ]
        paths = [own.gold, write(folder / "judgements.jsonl", rows)]
        load_gold(task=task, split=phase.split, paths=paths, reason="for tests")
        contents = [run.read_bytes() for run in own.runs]
    runs = [
        factories.make_submission(
            phase=phase, content=content, system=f"System {place}"
        )
        for place, content in enumerate(contents)
    ]
    for run in runs:
        score(run.jobs.get().pk)
    return organiser, phase, runs


def judged_rows(own: World, kind: str) -> list[str]:
    [_option, named] = own.judged(kind)
    return Path(named.partition("=")[2]).read_text().splitlines()


@pytest.fixture(scope="module")
def kept(django_db_setup, django_db_blocker):
    return keep_world(make_world, django_db_blocker)


@pytest.fixture
def world(db, kept):
    return kept()


def signed_in(person) -> Client:
    client = Client()
    client.force_login(person)
    return client


def organise(name, phase, *numbers):
    return reverse(f"organise-estimates{name}", args=[phase.task.season.slug, *numbers])


def public(phase, form=""):
    address = [phase.task.season.slug, phase.task.slug, phase.slug]
    return reverse(f"estimates-{form}" if form else "estimates", args=address)


def drawn(organiser, phase, of="citations", labels=60) -> EstimateSheet:
    client = signed_in(organiser)
    response = client.post(
        organise("-make", phase, phase.pk), {"of": of, "labels": labels}
    )
    assert "The sheet is created." in text_of(followed(client, response))
    return EstimateSheet.objects.latest("pk")


def filled(sheet, **changes) -> SimpleUploadedFile:
    """Return the sheet as people send it back."""
    with storage.statistics_file_storage.open(sheet.file) as kept:
        head, *rows = [json.loads(line) for line in kept.read().splitlines()]
    with TemporaryDirectory() as name:
        people = World(Path(name)).people
    yes, no = LABELS[head["kind"]]
    lines = [
        {**row, "label": yes if people(row["texts"]) else no, **changes} for row in rows
    ]
    content = "\n".join(map(json.dumps, [{**head, "by": "A"}, *lines])).encode()
    return SimpleUploadedFile("people.jsonl", content)


def bring(organiser, phase, sheet, file):
    client = signed_in(organiser)
    response = client.post(organise("-labels", phase, sheet.pk), {"file": file})
    return text_of(followed(client, response))


def publish(organiser, phase, sheet):
    return signed_in(organiser).post(organise("-publish", phase, sheet.pk))


def published(organiser, phase, of="citations") -> EstimateSheet:
    sheet = drawn(organiser, phase, of)
    bring(organiser, phase, sheet, filled(sheet))
    assert publish(organiser, phase, sheet).status_code == 302
    return sheet


@pytest.mark.parametrize(
    ("of", "measure"), [("citations", "citation_precision"), ("nuggets", "nuggets_all")]
)
def test_estimates_stand_beside_the_boards_numbers(world, client, of, measure):
    organiser, phase, runs = world
    published(organiser, phase, of)
    facts = client.get(public(phase, "json")).json()
    lines = [line for line in facts["estimates"] if line["measure"] == measure]
    board = {
        run.pk: run.evaluations.get().scores.get(shared__metric=measure).value
        for run in runs
    }
    alone = {line["run"]: line for line in lines if line["minus"] is None}
    assert {run: line["judge"] for run, line in alone.items()} == pytest.approx(board)
    for line in lines:
        assert line["low"] < line["estimated"] < line["high"]
        assert line["labels"] == 60
        assert line["worth_in_labels"] >= 60 - 1e-9
    assert len(lines) == 3


def test_the_board_has_a_tab_with_its_own_page_and_files(world, client):
    organiser, phase, _runs = world
    published(organiser, phase)
    address = reverse(
        "board", args=[phase.task.season.slug, phase.task.slug, phase.slug]
    )
    page = text_of(client.get(address, {"view": "estimates"}))
    assert "Estimated scores" in page
    assert "System 0 minus System 1" in page or "System 1 minus System 0" in page
    assert "Estimated scores" in text_of(client.get(public(phase)))
    rows = list(
        csv.DictReader(io.StringIO(client.get(public(phase, "csv")).content.decode()))
    )
    assert {row["measure"] for row in rows} == {
        "citation_precision",
        "citation_precision_strict",
    }


def test_the_board_has_no_tab_before_the_estimates_are_published(world, client):
    organiser, phase, _runs = world
    sheet = drawn(organiser, phase)
    bring(organiser, phase, sheet, filled(sheet))
    assert client.get(public(phase)).status_code == 404
    assert client.get(public(phase, "json")).status_code == 404
    assert client.get(f"/api/v1/phases/{phase.pk}/estimates/").status_code == 404
    address = reverse(
        "board", args=[phase.task.season.slug, phase.task.slug, phase.slug]
    )
    assert client.get(address, {"view": "estimates"}).status_code == 404
    publish(organiser, phase, sheet)
    assert client.get(public(phase)).status_code == 200
    signed_in(organiser).post(organise("-take-back", phase, sheet.pk))
    assert client.get(public(phase)).status_code == 404


def test_a_board_that_hides_scores_hides_estimates(world, client):
    organiser, phase, _runs = world
    published(organiser, phase)
    for board in ("ranks", "organisers"):
        type(phase).objects.filter(pk=phase.pk).update(board=board)
        assert client.get(public(phase)).status_code == 404
        assert client.get(public(phase, "csv")).status_code == 404
        assert client.get(f"/api/v1/phases/{phase.pk}/estimates/").status_code == 404
        assert signed_in(organiser).get(public(phase)).status_code == 200


def test_a_frozen_board_shows_no_estimates_that_were_published_later(world, client):
    organiser, phase, _runs = world
    type(phase).objects.filter(pk=phase.pk).update(frozen_from=timezone.now())
    published(organiser, phase)
    assert client.get(public(phase)).status_code == 404
    assert signed_in(organiser).get(public(phase)).status_code == 200


def test_the_board_shows_the_estimates_that_were_published_last(world, client):
    organiser, phase, _runs = world
    published(organiser, phase, "citations")
    newest = published(organiser, phase, "nuggets")
    assert client.get(public(phase, "json")).json()["of"] == "nuggets"
    signed_in(organiser).post(organise("-take-back", phase, newest.pk))
    assert client.get(public(phase, "json")).json()["of"] == "citations"


@pytest.fixture
def both_kinds(world):
    """Publish estimates from labels of citations, and later from labels of nuggets."""
    organiser, phase, _runs = world
    return [published(organiser, phase, of) for of in ("citations", "nuggets")]


def test_the_tab_shows_the_newest_published_sheet_of_each_kind(
    world, both_kinds, client
):
    organiser, phase, _runs = world
    newest = drawn(organiser, phase, "citations", labels=40)
    bring(organiser, phase, newest, filled(newest))
    publish(organiser, phase, newest)
    told = text_of(client.get(public(phase)))
    nuggets, citations = told.split("Labels of ")[1:]
    assert nuggets.startswith("nuggets People labelled a random sample, 60 units")
    assert "Vital nuggets" in nuggets
    assert citations.startswith("citations People labelled a random sample, 40 units")
    assert "Citation precision" in citations
    assert "nugget" not in citations.lower()
    signed_in(organiser).post(organise("-take-back", phase, newest.pk))
    told = text_of(client.get(public(phase)))
    assert told.count("People labelled a random sample, 60 units") == 2


def test_files_and_programs_have_the_estimates_of_each_kind(world, both_kinds, client):
    _organiser, phase, _runs = world
    facts = client.get(f"/api/v1/phases/{phase.pk}/estimates/").json()
    assert facts == client.get(public(phase, "json")).json()
    nuggets, citations = facts["by_kind"]
    assert (nuggets["of"], citations["of"]) == ("nuggets", "citations")
    assert {name: facts[name] for name in nuggets} == nuggets, "published last"
    by_measure = {line["measure"]: "citations" for line in citations["estimates"]}
    by_measure |= {line["measure"]: "nuggets" for line in nuggets["estimates"]}
    rows = csv.DictReader(
        io.StringIO(client.get(public(phase, "csv")).content.decode())
    )
    assert {row["measure"]: row["of"] for row in rows} == by_measure


def test_a_kind_whose_numbers_have_all_changed_is_left_out(world, both_kinds, client):
    _organiser, phase, runs = world
    for run in runs:
        scores = run.evaluations.get().scores
        scores.filter(shared__metric__startswith="nuggets").update(value=0.123)
    phase.refresh_from_db()
    type(phase).objects.filter(pk=phase.pk).update(version=phase.version + 1)
    facts = client.get(public(phase, "json")).json()
    assert facts["of"] == "citations"
    assert [own["of"] for own in facts["by_kind"]] == ["citations"]
    assert "Labels of nuggets" not in text_of(client.get(public(phase)))


def test_a_frozen_board_shows_the_kinds_that_were_published_before(world, client):
    organiser, phase, _runs = world
    published(organiser, phase, "citations")
    type(phase).objects.filter(pk=phase.pk).update(frozen_from=timezone.now())
    published(organiser, phase, "nuggets")
    told = text_of(client.get(public(phase)))
    assert "Labels of citations" in told
    assert "Labels of nuggets" not in told
    assert "Labels of nuggets" in text_of(signed_in(organiser).get(public(phase)))


def test_the_list_of_sheets_names_the_kind_of_labels(world, both_kinds):
    organiser, phase, _runs = world
    client = signed_in(organiser)
    told = text_of(client.get(organise("", phase)))
    citations, nuggets = both_kinds
    assert f"Sheet {citations.pk}: citations" in told
    assert f"Sheet {nuggets.pk}: nuggets" in told
    sheets = client.get(f"/api/v1/phases/{phase.pk}/estimate-sheets/").json()
    assert [sheet["kind"] for sheet in sheets] == ["supports", "assigns"]


def test_an_estimate_of_a_number_that_has_changed_is_left_out(world, client):
    organiser, phase, runs = world
    published(organiser, phase)
    runs[0].evaluations.get().scores.filter(shared__metric="citation_precision").update(
        value=0.123
    )
    phase.refresh_from_db()
    type(phase).objects.filter(pk=phase.pk).update(version=phase.version + 1)
    facts = client.get(public(phase, "json")).json()
    shown = {
        line["run"]
        for line in facts["estimates"]
        if line["measure"] == "citation_precision"
    }
    assert shown == {runs[1].pk}


def test_the_seed_of_the_sample_is_public_once_everybody_may_have_the_gold(
    world, client
):
    """The seed reveals which secret units people labelled."""
    organiser, phase, _runs = world
    sheet = published(organiser, phase)
    own = f"/api/v1/phases/{phase.pk}/estimates/"
    for address in (public(phase), public(phase, "csv")):
        assert sheet.seed not in client.get(address).content.decode()
    for address in (public(phase, "json"), own):
        assert client.get(address).json()["seed"] is None
    type(phase).objects.filter(pk=phase.pk).update(
        gold_is_public=True, shows_instances=True
    )
    for address in (public(phase, "json"), own):
        assert client.get(address).json()["seed"] == sheet.seed


def files_in_storage() -> set[str]:
    return {
        entry.name for entry in storage.statistics_file_storage.entries("background")
    }


@pytest.mark.parametrize("work", ["sheet", "labels"])
def test_a_job_whose_result_is_not_stored_leaves_no_file(world, monkeypatch, work):
    organiser, phase, _runs = world
    sheet = drawn(organiser, phase) if work == "labels" else None
    client = signed_in(organiser)
    before = files_in_storage()

    def fail(*given, **named):
        raise RuntimeError("the transaction fails")

    monkeypatch.setattr(
        "scoring.worker.background._finish_row_and_delete_sent_file", fail
    )
    if sheet is None:
        fields = {"of": "citations", "labels": 60}
        client.post(organise("-make", phase, phase.pk), fields)
    else:
        client.post(organise("-labels", phase, sheet.pk), {"file": filled(sheet)})
    uploads = {name for name in files_in_storage() if name.endswith(".upload")}
    work_off()
    assert files_in_storage() - uploads == before
    assert EstimateSheet.objects.exclude(result={}).count() == 0


def test_organisers_read_all_sheets_of_a_board_that_is_computed_once(
    world, monkeypatch
):
    organiser, phase, _runs = world
    for of in ("citations", "nuggets"):
        published(organiser, phase, of)
    boards = []

    def counted(*given):
        boards.append(given)
        return compute_board(*given)

    monkeypatch.setattr("citeboard.web.organise.estimates.compute_board", counted)
    page = text_of(signed_in(organiser).get(organise("", phase)))
    assert page.count("Take the estimates off the board") == 2
    assert len(boards) == 1


def test_nothing_public_has_a_digest_of_peoples_labels(world, client):
    """A digest of few labels confirms a guess of them, and of secret nuggets beside them."""
    organiser, phase, _runs = world
    sheet = published(organiser, phase)
    digest = EstimateSheet.objects.get(pk=sheet.pk).people_sha256
    assert digest
    for address in (
        public(phase),
        public(phase, "json"),
        public(phase, "csv"),
        f"/api/v1/phases/{phase.pk}/estimates/",
    ):
        assert digest not in client.get(address).content.decode()


def test_people_get_a_sheet_without_runs_and_without_the_judges_labels(world):
    organiser, phase, _runs = world
    sheet = drawn(organiser, phase)
    content = signed_in(organiser).get(organise("-rows", phase, sheet.pk))
    head, *rows = content.content.decode().splitlines()
    assert json.loads(head)["kind"] == "supports"
    assert len(rows) == sheet.judgements == 120
    assert {tuple(json.loads(row)) for row in rows} == {("texts", "label")}
    assert all(json.loads(row)["label"] == "" for row in rows)


@pytest.mark.parametrize("role", ["visitor", "member"])
def test_nobody_but_organisers_reads_a_sheet(world, client, role):
    organiser, phase, runs = world
    sheet = drawn(organiser, phase)
    if role == "member":
        client = signed_in(runs[0].team.memberships.first().user)
    assert client.get(organise("-rows", phase, sheet.pk)).status_code in (302, 404)
    assert client.get(organise("", phase)).status_code in (302, 404)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{", "people.jsonl"),
        (
            b'{"kind": "assigns", "texts": ["a", "b", "c"], "label": "support"}',
            "assigns",
        ),
        (b'{"kind": "supports", "texts": ["a", "b"], "label": "yes"}', "yes"),
        (b"\xff\xfe\x00", "people.jsonl"),
    ],
)
def test_a_faulty_file_changes_nothing_and_says_why(world, content, words):
    organiser, phase, _runs = world
    sheet = drawn(organiser, phase)
    told = bring(organiser, phase, sheet, SimpleUploadedFile("people.jsonl", content))
    assert words in told
    sheet.refresh_from_db()
    assert (sheet.people, sheet.result) == ("", {})


def test_published_estimates_take_no_other_labels(world):
    organiser, phase, _runs = world
    sheet = published(organiser, phase)
    before = EstimateSheet.objects.get(pk=sheet.pk).result
    told = bring(organiser, phase, sheet, filled(sheet, label="none"))
    assert "take them back first" in told
    assert EstimateSheet.objects.get(pk=sheet.pk).result == before


def test_published_estimates_keep_the_time_of_their_publication(world):
    """A frozen board shows the estimates that were published before the freeze."""
    organiser, phase, _runs = world
    sheet = published(organiser, phase)
    before = EstimateSheet.objects.get(pk=sheet.pk).published_at
    publish(organiser, phase, sheet)
    assert EstimateSheet.objects.get(pk=sheet.pk).published_at == before


def test_a_sheet_without_labels_is_not_published(world):
    organiser, phase, _runs = world
    sheet = drawn(organiser, phase)
    publish(organiser, phase, sheet)
    assert EstimateSheet.objects.get(pk=sheet.pk).is_open


@pytest.mark.parametrize(
    "fields",
    [
        {"of": "claims", "labels": "60"},
        {"of": "citations", "labels": "19"},
        {"of": "citations", "labels": "1001"},
        {"of": "citations", "labels": "many"},
        {"labels": "60"},
    ],
)
def test_a_sample_that_cannot_be_is_refused_at_its_field(world, fields):
    organiser, phase, _runs = world
    response = signed_in(organiser).post(organise("-make", phase, phase.pk), fields)
    assert response.status_code == 422
    assert not EstimateSheet.objects.exists()


def test_programs_draw_a_sample_and_bring_labels(world, client):
    organiser, phase, runs = world
    _row, secret = Token.objects.create_token(user=organiser, name="program")
    told = {"Authorization": f"Token {secret}"}
    sheets = f"/api/v1/phases/{phase.pk}/estimate-sheets/"
    asked = client.post(sheets, {"of": "citations", "labels": 60}, headers=told)
    assert asked.status_code in (200, 202), asked.content
    work_off()
    [sheet] = client.get(sheets, headers=told).json()
    assert sorted(sheet["runs"]) == sorted(run.pk for run in runs)
    assert sheet["judgements"] == 120
    own = f"/api/v1/estimate-sheets/{sheet['id']}"
    row = EstimateSheet.objects.get(pk=sheet["id"])
    sent = client.post(f"{own}/labels/", {"file": filled(row)}, headers=told)
    assert sent.status_code in (200, 202), sent.content
    work_off()
    assert client.post(f"{own}/publish/", headers=told).status_code == 204
    facts = client.get(f"/api/v1/phases/{phase.pk}/estimates/").json()
    assert facts == client.get(public(phase, "json")).json()
    assert client.post(f"{own}/publish/", headers=told).status_code == 409


def test_programs_list_the_sheets_of_one_phase_alone(world):
    organiser, phase, _runs = world
    sheet = drawn(organiser, phase)
    beside = factories.make_phase(task=phase.task, with_gold=False)
    client = signed_in(organiser)

    def listed(one) -> list[int]:
        sheets = client.get(f"/api/v1/phases/{one.pk}/estimate-sheets/").json()
        return [row["id"] for row in sheets]

    assert (listed(phase), listed(beside)) == ([sheet.pk], [])


def test_estimates_are_read_in_german(world, client):
    organiser, phase, _runs = world
    published(organiser, phase)
    page = text_of(client.get(public(phase), headers={"Accept-Language": "de"}))
    assert "Geschätzte Ergebnisse" in page
    assert "Estimated" not in page
