"""A season's archive: what stands in it, and that each number in it can be computed again or is missed."""

import datetime as dt
import hashlib
import io
import json
import re
import shutil
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from defusedxml.ElementTree import fromstring
from django.core.management import CommandError, call_command
from django.db import transaction
from django.utils import timezone

from citeboard.demo import prepare
from citeboard.demo.systems import SYSTEMS_BY_TASK
from citeboard.web.guides import build_site_wheel
from scoring.__main__ import main
from scoring.metrics import rouge155
from scoring.worker.rescoring import rank_again
from tasks.gold.gold_files import load_gold
from tasks.models import Organiser, Phase, Submission
from tasks.types import cited_reports
from tests import factories
from tests.api.sending import score
from tests.background.background import followed, work_off
from tests.fuzz import kinds
from tests.kept_worlds import KeptWorld, keep_world
from tests.mass import mass
from tests.scoring.compared import compare
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db


def over(season: str) -> None:
    """Its phases are in the past."""
    now = timezone.now()
    Phase.objects.filter(task__season__slug=season).update(
        opens=now - dt.timedelta(days=30), closes=now - dt.timedelta(days=1)
    )


def make_phase() -> Phase:
    """A phase with two scored runs on its board, open for another month."""
    season = factories.make_season(slug="past", licence="CC BY 4.0")
    task = factories.make_task(
        season=season, slug="spans", rules=["corrected", "official-2017"]
    )
    phase = factories.make_phase(
        task=task, slug="test", board=Phase.Audience.EVERYONE, with_gold=False
    )
    topics = [f"D{number:02}-0001" for number in range(1, 13)]
    factories.make_gold(phase=phase, topics=topics)
    for sentences in (("1",), ("1", "2")):
        content = factories.run_bytes(sentences=sentences, topics=topics)
        score(factories.make_submission(phase=phase, content=content))
    for rules in task.rules:
        compare(phase, rules)
    return phase


@pytest.fixture(scope="module")
def kept_phase(django_db_setup, django_db_blocker) -> KeptWorld:
    return keep_world(make_phase, django_db_blocker)


@pytest.fixture
def phase(db, kept_phase) -> Phase:
    return kept_phase()


@pytest.fixture(scope="module")
def kept_archive(kept_phase, django_db_blocker, tmp_path_factory) -> Path:
    with django_db_blocker.unblock(), transaction.atomic():
        kept_phase()
        over("past")
        folder = export(tmp_path_factory.mktemp("kept") / "archive", "--with-gold")
        transaction.set_rollback(True)
    return folder


@pytest.fixture
def archive(kept_archive, tmp_path) -> Path:
    return shutil.copytree(kept_archive, tmp_path / "archive")


def export(folder: Path, *more: str, season: str = "past") -> Path:
    call_command(
        "export_season",
        season,
        "--archive",
        "--out",
        str(folder),
        *more,
        stdout=io.StringIO(),
    )
    return folder


def verified(capsys, folder: Path, code: int) -> list[str]:
    assert main(["verify", str(folder)]) == code
    return capsys.readouterr().out.splitlines()


@pytest.mark.slow
def test_an_archive_of_boards_that_rank_by_a_metric_of_the_organisers_choice_is_verified(
    phase, tmp_path, capsys
):
    over("past")
    phase.task.rank_by = "overlap_f1_macro"
    phase.task.save()
    rank_again(phase.task)
    compare(phase)
    folder = export(tmp_path / "archive", "--with-gold")
    assert (
        json.loads(first(folder, "boards/*.json").read_text())["rank_by"]
        == "overlap_f1_macro"
    )
    assert verified(capsys, folder, 0)
    rewrite(first(folder, "boards/*.json"), lambda board: board.pop("rank_by"))
    assert any(
        "ranked by overlap_f1_micro" in line for line in verified(capsys, folder, 1)
    )


def test_an_organiser_has_it_made_by_a_button_and_only_organisers_get_it(
    phase, client, tmp_path, capsys
):
    season, where = phase.task.season, "/seasons/past/organise/archive/"
    over("past")
    Organiser.objects.create(
        season=season, user=factories.make_user(), role="organiser"
    )
    client.force_login(season.organisers.get().user)
    page = followed(
        client, client.post(where, {"version": "2026/1", "with_gold": "on"})
    )
    assert (
        "The archive is ready, with 2 boards, 2 runs and 1 version of gold."
        in text_of(page)
    )
    [made] = re.findall(r'href="([^"]+)" download', page.content.decode())
    assert "Version 2026/1" in text_of(client.get(where))
    given = client.get(made)
    assert 'filename="past-archive-2026-1.zip"' in given["Content-Disposition"]
    (tmp_path / "a.zip").write_bytes(b"".join(given))
    shutil.unpack_archive(tmp_path / "a.zip", tmp_path)
    assert verified(capsys, tmp_path / "past-archive", 0)
    asked = client.post("/api/v1/seasons/past/archive/", {"version": "2"})
    [job] = work_off()
    assert (asked.status_code, asked.json()["id"], asked.json()["kind"]) == (
        202,
        job.pk,
        "archive",
    )
    again = f"/api/v1/seasons/past/archive/{job.pk}/"
    (tmp_path / "b.zip").write_bytes(b"".join(client.get(again)))
    shutil.unpack_archive(tmp_path / "b.zip", tmp_path / "b")
    assert verified(capsys, tmp_path / "b" / "past-archive", 0)
    Organiser.objects.update(role="helper")
    assert [client.get(where).status_code for where in (made, again)] == [404, 404]


def rewrite(path: Path, change) -> None:
    """Change a JSON file of an archive, and its checksum with it, as whoever cheats would."""
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    root = next(folder for folder in path.parents if (folder / "SHA256SUMS").is_file())
    name = path.relative_to(root).as_posix()
    lines = (root / "SHA256SUMS").read_text().splitlines()
    kept = [line for line in lines if not line.endswith(f"  {name}")]
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    (root / "SHA256SUMS").write_text(
        "".join(f"{line}\n" for line in [*kept, f"{digest}  {name}"])
    )


def first(folder: Path, pattern: str) -> Path:
    return min(folder.glob(pattern))


@pytest.mark.slow
def test_the_archive_of_the_demo_s_seven_tasks_is_verified_and_one_changed_digit_in_it_is_found(
    monkeypatch, tmp_path, capsys
):
    monkeypatch.setattr(prepare, "BASELINE_NAMES_BY_TASK", {})
    monkeypatch.setattr(prepare, "TEAM_NAMES_IN_ALL_PHASES", ())
    monkeypatch.setattr(
        prepare,
        "SYSTEMS_BY_TASK",
        {task: systems[:1] for task, systems in SYSTEMS_BY_TASK.items()},
    )
    monkeypatch.setattr(prepare, "load_published_seasons", lambda: None)
    prepare.create_demo()
    prepare.finish_demo()
    practice = Submission.objects.filter(
        phase__task__season__slug="demo", phase__slug="practice"
    )
    for run in practice.exclude(file=""):
        score(run)
    # Without a word of the organisers': everybody may have the gold.
    folder = export(tmp_path / "archive", season="demo")
    kinds = {
        json.loads(path.read_text())[0]["task_type"]
        for path in folder.glob("scores/*.json")
    }
    assert len(kinds) == 7
    *details, last = verified(capsys, folder, 0)
    count = int(last.split()[0])
    assert count > 1000
    unchecked = [
        int(line.split()[-2]) for line in details if line.startswith("not checked")
    ]
    assert last == f"{count} of {count} numbers equal, {sum(unchecked)} not checked"
    # Of one that is over, nothing is left unchecked.
    for run in Submission.objects.filter(
        phase__task__season__slug=prepare.ENDED_DEMO_SEASON_SLUG
    ).exclude(file=""):
        score(run)
    ended = verified(
        capsys, export(tmp_path / "ended", season=prepare.ENDED_DEMO_SEASON_SLUG), 0
    )[-1]
    assert re.fullmatch(r"(\d{3,}) of \1 numbers equal, 0 not checked", ended)
    for run in Submission.objects.filter(
        phase__task__season__slug=prepare.REPORTS_SEASON_SLUG
    ):
        score(run)
    judges = verified(
        capsys, export(tmp_path / "judges", season=prepare.REPORTS_SEASON_SLUG), 0
    )
    assert re.fullmatch(r"(\d\d+) of \1 numbers equal, 0 not checked", judges[-1])
    assert sorted(re.sub("(: | [0-9a-f]{64}).*", "", line) for line in details) == [
        "not checked, no metric of the scorer has them (human evaluation)",
        "not checked, teams report them",
        "receipts are signed by",
        "the package rouge-score 0.1.2 gives the same",
        "the site has signed these numbers",
    ]

    labelled = next(
        path
        for path in folder.glob("scores/*.json")
        if "positional" in path.read_text()
    )
    digits = re.compile(r'("value": 0\.\d*?)([1-8])')
    text, changes = digits.subn(
        lambda found: found[1] + str(int(found[2]) + 1), labelled.read_text(), 1
    )
    assert changes == 1
    labelled.write_text(text)
    *details, last = verified(capsys, folder, 1)
    assert (
        details[0]
        == f"scores/{labelled.name}: not the file whose checksum SHA256SUMS has"
    )
    assert "value: the archive has 0." in details[1]
    assert int(last.split()[0]) < count
    assert f" of {count} numbers equal" in last


@pytest.mark.parametrize("part", ["value", "low", "n"])
def test_a_number_of_a_run_that_was_changed_with_its_checksum_is_found(
    part, archive, capsys
):
    path = first(archive, "scores/*.json")

    def change(evaluations):
        metric = evaluations[0]["metrics"]["overlap_f1_micro"]
        metric[part] += 1 if part == "n" else 1e-9

    rewrite(path, change)
    told = verified(capsys, archive, 1)
    assert told[0].startswith(
        f"run {path.stem} corrected metrics overlap_f1_micro {part}: the archive has"
    )


def test_rouge_has_a_witness_in_its_package_where_that_is_installed(
    archive, capsys, monkeypatch
):
    """Both runs have precision, recall and F1 of ROUGE-L, each over citances and over topics."""
    assert "the package rouge-score 0.1.2 gives the same: 12 numbers" in verified(
        capsys, archive, 0
    )
    assert main(["verify", str(archive), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["witnessed"] == {"rouge-score 0.1.2": 12}

    def version(package):
        raise PackageNotFoundError(package)

    monkeypatch.setattr("scoring.metrics.base.version", version)
    words = "the package rouge-score is not installed and witnesses nothing: 12 numbers"
    assert words in verified(capsys, archive, 0)


def test_where_the_package_gives_another_number_both_are_told(
    archive, capsys, monkeypatch
):
    counts = rouge155.count_as_rouge_score
    other = lambda *texts: counts(*texts)._replace(hits=0)  # noqa: E731
    monkeypatch.setattr(rouge155, "count_as_rouge_score", other)
    *details, last = verified(capsys, archive, 1)
    assert last.split()[0] == last.split()[2]
    differing = [
        line for line in details if "rouge_l_f1 value: the archive has " in line
    ]
    assert len(differing) == 2
    assert all(
        line.endswith(", the package rouge-score 0.1.2 gives 0.0") for line in differing
    )


def test_the_wheel_that_wrote_the_archive_lies_in_it(archive):
    [wheel] = archive.glob("wheel/*.whl")
    assert json.loads((archive / "season.json").read_text())["wheel"] == wheel.name
    assert wheel.read_bytes() == build_site_wheel().content
    assert wheel.name in (archive / "index.html").read_text()


def test_a_number_of_another_metric_s_version_is_no_equal_one(archive, capsys):
    def change(evaluations):
        metric = evaluations[0]["metrics"]["overlap_f1_micro"]
        metric["column"] = metric["column"].replace("|v:1", "|v:0")

    rewrite(first(archive, "scores/*.json"), change)
    assert (
        "overlap_f1_micro: a number of overlap_f1_micro|"
        in verified(capsys, archive, 1)[0]
    )


def test_a_digit_changed_on_a_board_is_found(archive, capsys):
    path = first(archive, "boards/*.json")

    def change(board):
        board["rows"][0]["scores"][board["columns"][0]["name"]]["low"] += 1e-6

    rewrite(path, change)
    assert verified(capsys, archive, 1)[0].startswith(f"boards/{path.name} System")


def test_files_that_were_changed_or_are_gone_are_named(archive, capsys):
    (archive / "index.html").write_text("other")
    gone = [
        "style.css",
        *(
            first(archive, f"{kind}/*").relative_to(archive)
            for kind in ("runs", "scores")
        ),
    ]
    gone.append(first(archive, "boards/*.json").relative_to(archive))
    for name in gone:
        (archive / name).unlink()
    told = verified(capsys, archive, 1)
    assert [
        line
        for line in told
        if line.startswith("index.html: not the file whose checksum")
    ]
    assert {f"{name}: there is no such file" for name in gone} <= set(told)


def test_without_the_checksums_they_are_what_is_missing(archive, capsys):
    (archive / "SHA256SUMS").unlink()
    assert verified(capsys, archive, 1)[0] == "SHA256SUMS: there is no such file"


def test_without_the_gold_boards_still_say_what_runs_say_and_the_rest_is_counted(
    phase, capsys, tmp_path
):
    over("past")
    folder = export(tmp_path / "archive")
    assert list((folder / "gold").iterdir()) == []
    season = json.loads((folder / "season.json").read_text())
    [gold] = season["tasks"][0]["gold"]
    assert gold["file"] is None
    assert len(gold["sha256"]) == 64
    told = verified(capsys, folder, 0)
    assert [
        line
        for line in told
        if line.startswith("not checked, the gold is not in the archive: ")
    ]


def test_a_phase_that_is_not_over_gives_out_neither_runs_nor_gold(
    phase, capsys, tmp_path
):
    folder = export(tmp_path / "archive", "--with-gold")
    assert list((folder / "runs").iterdir()) == list((folder / "gold").iterdir()) == []
    assert "their splits' gold: spans/test" in capsys.readouterr().err
    told = verified(capsys, folder, 0)
    assert [
        line
        for line in told
        if line.startswith("not checked, the run is not in the archive: ")
    ]


def test_an_earlier_phase_on_the_split_of_one_that_is_open_keeps_runs_and_gold_back(
    phase, tmp_path
):
    over("past")
    factories.make_phase(task=phase.task, split=phase.split)
    folder = export(tmp_path / "archive", "--with-gold")
    assert list((folder / "runs").iterdir()) == list((folder / "gold").iterdir()) == []


def test_an_archive_without_a_public_board_has_nothing_to_verify(
    phase, capsys, tmp_path
):
    over("past")
    Phase.objects.update(board=Phase.Audience.ORGANISERS)
    folder = export(tmp_path / "archive", "--with-gold")
    assert list((folder / "runs").iterdir()) == list((folder / "gold").iterdir()) == []
    assert verified(capsys, folder, 3) == ["0 of 0 numbers equal, 0 not checked"]


def test_it_works_from_disk_and_its_metadata_lists_what_is_in_it(archive):
    for page in archive.rglob("*.html"):
        links = re.findall(r'(?:href|src)="([^"]+)"', page.read_text())
        assert links
        assert [link for link in links if not (page.parent / link).is_file()] == [], (
            page
        )
    charts = list(archive.glob("boards/*.svg"))
    assert len(charts) == 2
    assert {fromstring(chart.read_text()).tag for chart in charts} == {
        "{http://www.w3.org/2000/svg}svg"
    }
    crate = json.loads((archive / "ro-crate-metadata.json").read_text())
    listed = {
        part["@id"]: part["sha256"]
        for part in crate["@graph"]
        if part["@type"] == "File"
    }
    for name, digest in listed.items():
        assert hashlib.sha256((archive / name).read_bytes()).hexdigest() == digest
    assert {"season.json", "CITATION.cff", ".zenodo.json", "README.md"} <= set(listed)
    assert (
        json.loads((archive / ".zenodo.json").read_text())["upload_type"] == "dataset"
    )


@pytest.mark.both_databases
def test_nothing_of_an_archive_with_runs_and_gold_is_left_unchecked(archive, capsys):
    """Two runs under two rule sets: each board has one paired test and two rows."""
    *details, last = verified(capsys, archive, 0)
    assert "the site has signed these numbers: 4 receipts hold" in details
    assert last.endswith("numbers equal, 0 not checked")
    tests = [
        json.loads(path.read_text())["tests"] for path in archive.glob("tests/*.json")
    ]
    assert [len(own) for own in tests] == [1, 1]


@pytest.mark.parametrize("part", ["difference", "error", "low", "high", "p", "units"])
def test_a_paired_test_that_was_changed_is_found(part, archive, capsys):
    path = first(archive, "tests/*.json")
    rewrite(
        path,
        lambda board: board["tests"][0].update({part: board["tests"][0][part] + 1e-6}),
    )
    assert re.match(
        rf"boards/.* runs \d+ and \d+ {part}: the archive has",
        verified(capsys, archive, 1)[0],
    )


@pytest.mark.parametrize("part", ["rank", "rank_low", "rank_high", "group"])
def test_a_rank_or_a_group_that_was_changed_is_found(part, archive, capsys):
    board = first(archive, "boards/*.json")
    rewrite(board, lambda board: board["rows"][1].update({part: 7}))
    assert (
        f"{part}: the archive has 7, computed again it is "
        in verified(capsys, archive, 1)[0]
    )


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"seed": 3}, "a paired test is not made as those of boards are"),
        (
            {"trials": 1, "test": "approximate randomisation"},
            "a paired test is not made as",
        ),
        ({"trials": 10**9}, "a paired test is not made as those of boards are"),
        ({"first": 0}, "its paired tests are not each of two rows"),
        (None, "it is said to be compared, and 1 paired tests are missing"),
    ],
)
def test_paired_tests_that_a_board_does_not_make_are_none(
    change, told, archive, capsys
):
    def rewritten(board):
        if change is None:
            board["tests"].clear()
        else:
            board["tests"][0].update(change)

    rewrite(first(archive, "tests/*.json"), rewritten)
    assert told in verified(capsys, archive, 1)[0]


def test_tests_of_runs_that_are_not_there_are_counted_and_ranks_by_value_are_checked(
    archive, capsys
):
    def without_file(season):
        season["runs"][0]["file"] = None

    rewrite(archive / "season.json", without_file)
    told = verified(capsys, archive, 0)
    # Of each board six numbers of a test, and of two rows all but the rank.
    assert (
        "not checked, not all paired tests behind them can be repeated: 24 numbers"
        in told
    )


def test_an_archive_of_before_has_neither_tests_nor_receipts_and_says_so(
    archive, capsys
):
    for path in archive.glob("tests/*.json"):
        path.unlink()
    (archive / "SHA256SUMS").write_text(
        re.sub(".*  tests/.*\n", "", (archive / "SHA256SUMS").read_text())
    )
    rewrite(
        archive / "season.json",
        lambda season: [run.pop("receipts") for run in season["runs"]],
    )
    told = verified(capsys, archive, 0)
    assert "no receipt: 4 scorings" in told
    words = "not checked, the archive does not hold the paired tests that ranks and groups rest on: 16 numbers"  # noqa: E501
    assert words in told


def test_whoever_changes_numbers_with_all_that_follows_from_them_cannot_sign_them(
    archive, capsys, tmp_path
):
    """The gold is not there, so that nothing can be computed again."""
    key = tmp_path / "key"
    key.write_text(json.loads((archive / "log.json").read_text())["keys"][0]["public"])
    rewrite(
        archive / "season.json",
        lambda season: [gold.update(file=None) for gold in season["tasks"][0]["gold"]],
    )
    assert main(["verify", str(archive), "--key", str(key)]) == 0
    path = first(archive, "scores/*.json")

    def change(evaluations):
        evaluations[0]["metrics"]["overlap_f1_micro"]["value"] += 1e-9

    capsys.readouterr()
    rewrite(path, change)
    assert f"run {path.stem} corrected: its receipt is of another scores" in verified(
        capsys, archive, 1
    )

    def signed_by_another(log):
        log["keys"][0]["public"] = "00" * 32

    rewrite(archive / "log.json", signed_by_another)
    assert "is not one of the site's" in verified(capsys, archive, 1)[0]


@pytest.mark.parametrize("part", ["entry", "signature", "openings", "log"])
def test_a_receipt_in_an_archive_that_was_changed_is_found(part, archive, capsys):
    path = first(archive, "receipts/*.json")

    def change(receipts):
        receipts[0][part] = json.loads(
            json.dumps(receipts[0][part]).translate(str.maketrans("12", "21"))
        )

    rewrite(path, change)
    assert verified(capsys, archive, 1)[0].startswith(f"run {path.stem}, a receipt: ")


def test_a_file_that_is_no_public_key_is_refused(archive, tmp_path, capsys):
    (tmp_path / "key").write_text("nothing")
    assert main(["verify", str(archive), "--key", str(tmp_path / "key")]) == 2
    assert "holds no public key" in capsys.readouterr().err


def test_programs_read_the_result(archive, capsys):
    assert main(["verify", str(archive), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["numbers"] == found["equal"] > 50
    assert found["differing"] == []


@pytest.mark.parametrize(
    "content",
    [
        "{}",
        "nonsense",
        '{"format": "citeboard-season-archive", "format_version": 9}',
        '{"format": "citeboard-season-archive", "format_version": 1, "tasks": [1], "runs": 2}',
    ],
)
def test_what_is_no_archive_is_refused_in_a_sentence(content, tmp_path, capsys):
    assert main(["verify", str(tmp_path)]) == 2
    assert "season.json: there is no such file" in capsys.readouterr().err
    (tmp_path / "season.json").write_text(content)
    assert main(["verify", str(tmp_path)]) == 2
    assert re.search(
        "season.json: |not as an archive is written", capsys.readouterr().err
    )


@pytest.mark.parametrize("place", ["../../secret.json", "/etc/passwd", "runs/\0"])
@pytest.mark.parametrize("kind", ["scores", "file"])
def test_an_archive_that_names_files_elsewhere_is_refused(kind, place, archive, capsys):
    rewrite(
        archive / "season.json", lambda season: season["runs"][0].update({kind: place})
    )
    assert main(["verify", str(archive)]) == 2
    assert "leads out of the archive" in capsys.readouterr().err


def test_a_link_out_of_the_archive_is_not_followed(archive, tmp_path, capsys):
    (tmp_path / "secret").write_text("secret")
    (archive / "index.html").unlink()
    (archive / "index.html").symlink_to(tmp_path / "secret")
    assert main(["verify", str(archive)]) == 2
    assert "leads out of the archive" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("parser", "/etc"),
        ("parser", "../parses.jsonl"),
        ("entailment", "labels:mine.jsonl"),
        ("x", "model:/m"),
    ],
)
def test_no_option_makes_a_file_outside_be_read(option, value, archive, capsys):
    for path in archive.glob("scores/*.json"):
        rewrite(
            path,
            lambda evaluations: [
                own["options"].update({option: value}) for own in evaluations
            ],
        )
    told = verified(capsys, archive, 0)
    words = (
        f"not checked, the file that the option {option} names is not in the archive: "
    )
    assert [line for line in told if line.startswith(words)]


def test_nothing_is_written_over_what_is_there_and_an_unknown_season_is_named(
    phase, tmp_path
):
    with pytest.raises(
        CommandError, match="exists; an archive is written into a new folder"
    ):
        export(tmp_path)
    with pytest.raises(CommandError, match="there is no season “nowhere”"):
        export(tmp_path / "new", season="nowhere")
    assert not (tmp_path / "new").exists()


@pytest.mark.mass
def test_an_archive_with_anything_changed_in_it_is_refused_or_said_to_differ(
    kept_archive, tmp_path
):
    kind = kinds.Kind(kinds.ARCHIVE, kinds.Archive(kept_archive, tmp_path).try_one)
    assert kinds.tried(kind, mass(8, 1_000), seed=25)["refused"]


def make_phase_of_seeds() -> Phase:
    """Create a finished phase with a mean of three seeds and two single runs, all compared."""
    phase = make_phase()
    Phase.objects.filter(pk=phase.pk).update(counting=Phase.CountedRunsRule.ALL)
    topics = [f"D{number:02}-0001" for number in range(1, 13)]
    team = factories.make_team(season=phase.task.season)
    for sentences in (("2",), ("2", "3"), ("1", "3")):
        content = factories.run_bytes(sentences=sentences, topics=topics)
        run = factories.make_submission(phase=phase, team=team, content=content)
        score(run)
        Submission.objects.filter(pk=run.pk).update(seeds_of="Owl")
    Phase.objects.filter(pk=phase.pk).update(version=99)
    for rules in phase.task.rules:
        compare(phase, rules)
    over("past")
    return phase


@pytest.fixture(scope="module")
def kept_archive_of_seeds(django_db_setup, django_db_blocker, tmp_path_factory) -> Path:
    with django_db_blocker.unblock(), transaction.atomic():
        make_phase_of_seeds()
        folder = export(tmp_path_factory.mktemp("seeds") / "archive", "--with-gold")
        transaction.set_rollback(True)
    return folder


@pytest.fixture
def archive_of_seeds(kept_archive_of_seeds, tmp_path) -> Path:
    return shutil.copytree(kept_archive_of_seeds, tmp_path / "seeds")


def test_the_tests_behind_ranks_of_means_are_repeated(archive_of_seeds, capsys):
    tests = json.loads(first(archive_of_seeds, "tests/*corrected.json").read_text())
    assert (len(tests["tests"]), len(tests["tests_of_means"])) == (1, 2)
    last = verified(capsys, archive_of_seeds, 0)[-1]
    assert last.endswith("numbers equal, 0 not checked")


@pytest.mark.parametrize(
    "part", ["difference", "error", "df", "low", "high", "p", "units"]
)
def test_a_changed_comparison_of_a_mean_is_found(part, archive_of_seeds, capsys):
    def changed(board):
        test = board["tests_of_means"][0]
        test[part] = (test[part] or 0) + 1e-6

    rewrite(first(archive_of_seeds, "tests/*.json"), changed)
    told = verified(capsys, archive_of_seeds, 1)[0]
    assert re.match(rf"boards/.* rows \d+ and \d+ {part}: the archive has", told)


@pytest.mark.parametrize("part", ["value", "low", "high"])
def test_a_changed_number_of_a_mean_is_found(part, archive_of_seeds, capsys):
    def changed(board):
        [mean] = [row for row in board["rows"] if "runs" in row]
        mean["scores"]["overlap_f1_macro"][part] += 1e-6

    rewrite(first(archive_of_seeds, "boards/*corrected.json"), changed)
    told = verified(capsys, archive_of_seeds, 1)[0]
    assert f"Owl overlap_f1_macro {part}: the archive has" in told


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda own: own.pop(), "and 1 paired tests are missing"),
        (lambda own: own[0].update(second=0), "not each of two rows"),
        (lambda own: own.append(own[0]), "not each of two rows"),
    ],
)
def test_comparisons_of_means_that_a_board_does_not_make_are_none(
    change, told, archive_of_seeds, capsys
):
    path = first(archive_of_seeds, "tests/*.json")
    rewrite(path, lambda board: change(board["tests_of_means"]))
    assert told in verified(capsys, archive_of_seeds, 1)[0]


def test_judgements_in_files_of_options_are_verified_from_the_archive(
    db, tmp_path, capsys
):
    sample = Path(cited_reports.__file__).parent / "sample"
    gold = shutil.copytree(sample / "gold", tmp_path / "gold")
    options = {}
    for name in ("assignments", "supports"):
        options[name] = str(shutil.move(gold / f"{name}.jsonl", tmp_path))
    task = factories.make_task(
        season=factories.make_season(slug="reports", licence="CC BY 4.0"),
        slug="reports",
        type="cited-reports",
        rules=["corrected"],
        options=options,
    )
    phase = factories.make_phase(
        task=task, slug="test", board=Phase.Audience.EVERYONE, with_gold=False
    )
    load_gold(task=task, split=phase.split, paths=[gold], reason="first release")
    content = (sample / "run.jsonl").read_bytes()
    score(factories.make_submission(phase=phase, content=content))
    over("reports")
    archive = export(tmp_path / "archive", "--with-gold", season="reports")
    told = verified(capsys, archive, 0)
    assert not [line for line in told if line.startswith("not checked")]
    assert len(list((archive / "labels").glob("*.jsonl"))) == 2
