"""Boards of battles in an archive: their judgements, and the numbers that `verify` computes from them."""

import json
import shutil

import pytest
from django.test import Client
from django.utils import timezone

from scoring.__main__ import main
from tasks.models import Phase
from tasks.submissions.run_acts import withdraw_run
from tests.archive.test_archive import export, first, rewrite, verified
from tests.kept_worlds import keep_world
from tests.web.test_battles import board, make_judged, publish

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def make_published():
    organiser, judge, other, phase, runs, sheet = make_judged()
    publish(organiser, phase, sheet)
    return organiser, judge, other, phase, runs


@pytest.fixture(scope="module")
def kept(django_db_setup, django_db_blocker):
    return keep_world(make_published, django_db_blocker)


@pytest.fixture
def published(db, kept):
    return kept()


@pytest.fixture
def archive(published, tmp_path):
    phase = published[3]
    return export(tmp_path / "archive", season=phase.task.season.slug)


def test_an_archive_has_the_board_of_battles_that_everybody_reads(published, archive):
    _, judge, other, phase, _ = published
    season = json.loads((archive / "season.json").read_text())
    [paths] = [
        own["battles"]
        for task in season["tasks"]
        for own in task["phases"]
        if "battles" in own
    ]
    stem = f"battles/{phase.task.slug}-{phase.slug}"
    assert paths == {"rows": f"{stem}.jsonl", "board": f"{stem}.json"}
    public = Client()
    assert (archive / paths["rows"]).read_bytes() == public.get(
        board(phase, "jsonl")
    ).content
    numbers = json.loads((archive / paths["board"]).read_text())
    assert numbers == public.get(board(phase, "json")).json()
    for path in (archive / "battles").iterdir():
        assert str(judge) not in path.read_text()
        assert str(other) not in path.read_text()
    assert f'href="{stem}.html"' in (archive / "index.html").read_text()
    assert "Basilisk" in (archive / f"{stem}.html").read_text()


def test_the_offline_scorer_reads_archived_judgements(archive, capsys):
    assert main(["battles", str(first(archive, "battles/*.jsonl")), "--json"]) == 0
    numbers = json.loads(first(archive, "battles/*.json").read_text())
    assert json.loads(capsys.readouterr().out) == numbers


def test_every_number_of_a_board_of_battles_is_verified(archive, tmp_path, capsys):
    without = shutil.copytree(archive, tmp_path / "without")

    def forget(season):
        for task in season["tasks"]:
            for phase in task["phases"]:
                phase.pop("battles", None)

    rewrite(without / "season.json", forget)
    counts = [
        int(verified(capsys, folder, 0)[-1].split()[0]) for folder in (archive, without)
    ]
    # Of 3 systems 3 strengths, 6 shares, 3 rows of 9 numbers; 4 of the bias; 5 and 4 of agreement; 2 counts.
    assert counts[0] - counts[1] == 3 + 6 + 27 + 4 + 9 + 2


CHANGES = {
    "a strength": lambda facts: facts["strengths"].update(Abacus=0.5),
    "a share": lambda facts: facts["shares"]["Abacus"].update(Basilisk=0.125),
    "an end": lambda facts: facts["board"][0].update(strength_low=-9.0),
    "a range of ranks": lambda facts: facts["board"][0].update(ranks=[1, 1]),
    "the order": lambda facts: facts["board"].reverse(),
    "the bias": lambda facts: facts["left"].update(share=0.5),
    "the agreement": lambda facts: facts["agreement"].update(alpha=1.0),
    "a number that is gone": lambda facts: facts.pop("battles"),
    "a system that is not there": lambda facts: facts["strengths"].update(Dodo=1.0),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_number_of_a_board_of_battles_is_found(change, archive, capsys):
    rewrite(first(archive, "battles/*.json"), CHANGES[change])
    told = verified(capsys, archive, 1)
    assert any(line.startswith("battles/") for line in told)


def test_a_changed_judgement_is_found(archive, capsys):
    path = first(archive, "battles/*.jsonl")
    path.write_text(path.read_text().replace('"label": "left"', '"label": "tie"', 1))
    told = verified(capsys, archive, 1)
    assert any("strengths" in line for line in told)


@pytest.mark.parametrize("content", ["", "no JSON\n", '{"topic": "t"}\n'])
def test_judgements_that_cannot_be_read_are_told(content, archive, capsys):
    first(archive, "battles/*.jsonl").write_text(content)
    told = verified(capsys, archive, 1)
    assert any(line.startswith("battles/") for line in told)


def test_judgements_that_are_gone_are_told(archive, capsys):
    first(archive, "battles/*.jsonl").unlink()
    told = verified(capsys, archive, 1)
    assert any("there is no such file" in line for line in told)


def test_numbers_of_another_version_are_counted_and_not_checked(archive, capsys):
    def change(facts):
        facts["signature"] = "battles|v:0"

    rewrite(first(archive, "battles/*.json"), change)
    told = verified(capsys, archive, 0)
    assert any("another version computed the board of battles" in line for line in told)


def test_judgements_outside_the_archive_are_refused(archive, capsys):
    def change(season):
        for task in season["tasks"]:
            for phase in task["phases"]:
                phase["battles"] = {"rows": "../x.jsonl", "board": "../x.json"}

    rewrite(archive / "season.json", change)
    assert main(["verify", str(archive)]) == 2
    assert "leads out of the archive" in capsys.readouterr().err


def test_an_archive_has_no_unpublished_and_no_hidden_battles(published, tmp_path):
    *_, phase, _ = published
    season = phase.task.season.slug
    Phase.objects.filter(pk=phase.pk).update(board="organisers")
    folder = export(tmp_path / "hidden", season=season)
    assert not (folder / "battles").exists()
    assert "battles" not in (folder / "README.md").read_text()


def test_an_archive_of_a_frozen_phase_has_the_frozen_board_of_battles(
    published, tmp_path, capsys
):
    organiser, _, _, phase, runs = published
    Phase.objects.filter(pk=phase.pk).update(frozen_from=timezone.now())
    withdraw_run(runs[2], organiser)
    folder = export(tmp_path / "frozen", season=phase.task.season.slug)
    assert "Chimera" in first(folder, "battles/*.jsonl").read_text()
    verified(capsys, folder, 0)


def test_battles_alone_are_archived_without_a_board_of_measures(
    published, tmp_path, capsys
):
    phase = published[3]
    Phase.objects.filter(pk=phase.pk).update(battles_alone=True)
    folder = export(tmp_path / "alone", season=phase.task.season.slug)
    assert not [*(folder / "boards").iterdir()]
    assert "Basilisk" in first(folder, "battles/*.json").read_text()
    verified(capsys, folder, 0)
