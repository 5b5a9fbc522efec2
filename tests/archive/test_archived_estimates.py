"""Estimated scores in archives: `verify` computes them again from the runs and people's labels."""

import json

import pytest

from scoring.models import EstimateSheet
from tasks.models import Season
from tests.archive.test_archive import export, over, rewrite, verified
from tests.web.test_estimates import make_world, published

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def ended(db):
    """Create a season that is over, with published estimates."""
    organiser, phase, _runs = make_world()
    published(organiser, phase)
    season = Season.objects.get(pk=phase.task.season_id)
    over(season.slug)
    return season


def test_estimates_are_computed_again_from_an_archive(ended, tmp_path, capsys):
    archive = export(tmp_path / "archive", "--with-gold", season=ended.slug)
    told = verified(capsys, archive, 0)
    assert not [line for line in told if "estimates" in line]
    [entry] = json.loads((archive / "season.json").read_text())["estimates"]
    lines = entry["measures"]["citation_precision"]
    assert (len(lines["systems"]), len(lines["differences"])) == (2, 1)


def test_an_archive_has_the_newest_published_estimates_of_each_kind(tmp_path, capsys):
    organiser, phase, _runs = make_world()
    outdated = published(organiser, phase, "citations")
    newest = [published(organiser, phase, of) for of in ("citations", "nuggets")]
    slug = phase.task.season.slug
    over(slug)
    archive = export(tmp_path / "archive", "--with-gold", season=slug)
    entries = json.loads((archive / "season.json").read_text())["estimates"]
    assert {entry["of"]: entry["people"] for entry in entries} == {
        sheet.of: f"estimates/{sheet.pk}.jsonl" for sheet in newest
    }
    assert not (archive / f"estimates/{outdated.pk}.jsonl").exists()
    assert not [line for line in verified(capsys, archive, 0) if "estimates" in line]

    def change(season):
        [entry] = (own for own in season["estimates"] if own["of"] == "citations")
        entry["measures"]["citation_precision"]["systems"][0]["estimated"] = 0.5

    rewrite(archive / "season.json", change)
    told = verified(capsys, archive, 1)
    assert [line for line in told if "estimates citation_precision" in line]


def test_an_archive_names_no_person_and_has_no_text_of_a_sheet(ended, tmp_path):
    archive = export(tmp_path / "archive", "--with-gold", season=ended.slug)
    [path] = (archive / "estimates").iterdir()
    head, *rows = map(json.loads, path.read_text().splitlines())
    assert "by" not in head
    assert {row["by"] for row in rows} == {"person 1"}
    assert not any("texts" in row for row in rows)


def test_an_estimate_that_does_not_follow_differs(ended, tmp_path, capsys):
    archive = export(tmp_path / "archive", "--with-gold", season=ended.slug)

    def change(season):
        measures = season["estimates"][0]["measures"]
        measures["citation_precision"]["systems"][0]["estimated"] = 0.5

    rewrite(archive / "season.json", change)
    told = verified(capsys, archive, 1)
    assert [line for line in told if "estimates citation_precision" in line]


def test_an_archive_without_gold_has_no_labels_of_people(ended, tmp_path):
    archive = export(tmp_path / "archive", season=ended.slug)
    assert not (archive / "estimates").exists()
    assert "estimates" not in json.loads((archive / "season.json").read_text())


def test_estimates_that_were_taken_back_are_in_no_archive(ended, tmp_path):
    EstimateSheet.objects.update(published_at=None)
    archive = export(tmp_path / "archive", "--with-gold", season=ended.slug)
    assert not (archive / "estimates").exists()
