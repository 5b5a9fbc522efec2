"""Whole corpora: whoever reads them, in however many processes, stopped or not, the same files come out."""

import gzip
import json
import signal
import subprocess
import sys
from fcntl import LOCK_EX, flock
from pathlib import Path

import pytest

from scoring.__main__ import main
from scoring.tools.builders import parts, tagging
from scoring.tools.builders.parts import Workers
from scoring.tools.builders.reading import iterate_records
from tasks.types import InputRefused
from tasks.types.problems import SoftwareUnavailable
from tests.resting import rests_on_scorer
from tests.scoring.builders.corpora import (
    s2orc_metadata,
    s2orc_parse,
    unarxive_paper,
    write_corpus,
    write_lines,
)
from tests.scoring.builders.interrupted import Step, always_killed, take
from tests.scoring.builders.test_resolution_builder import write_collection

pytestmark = rests_on_scorer

ROOT = Path(__file__).resolve().parents[3]
#: Bytes of a part here, so that small corpora have many.
STRETCH = 3_000


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(parts, "PART_BYTES", STRETCH)


def unarxive(folder: Path) -> Path:
    papers = [
        {**unarxive_paper(), "paper_id": f"2101.{number:05d}"} for number in range(40)
    ]
    write_lines(folder / "b" / "papers.jsonl", papers[:25])
    write_lines(folder / "a" / "papers.jsonl", papers[25:])
    return folder


def s2orc(folder: Path) -> Path:
    """Texts, packed; metadata, of which some lines speak of the same paper; citations with intents."""
    texts = [{**s2orc_parse(), "paper_id": str(number)} for number in range(100, 130)]
    packed = "".join(json.dumps(text) + "\n" for text in texts).encode()
    folder.mkdir()
    (folder / "texts_0.jsonl.gz").write_bytes(gzip.compress(packed))
    known = [
        {**s2orc_metadata()[0], "paper_id": str(number)} for number in range(100, 130)
    ]
    later = [
        {"paper_id": str(number), "year": 1999, "mag_field_of_study": ["Art"]}
        for number in range(100, 130)
    ]
    write_lines(folder / "metadata.jsonl", [*known, *s2orc_metadata()[1:], *later])
    write_lines(
        folder / "citations.jsonl",
        [
            {
                "citingcorpusid": number,
                "citedcorpusid": 11,
                "contexts": ["Bells were cast early [1]."],
                "intents": [["methodology"]],
            }
            for number in range(100, 130)
        ],
    )
    return folder


CORPORA = {"lines": write_corpus, "unarxive": unarxive, "s2orc": s2orc}


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def build(corpus: Path, out: Path, *more: str) -> dict[str, bytes]:
    command = [
        "build-diagnostic",
        str(corpus),
        "--out",
        str(out / "season"),
        "--no-baselines",
    ]
    assert main([*command, "--tagger", "none", *more]) == 0
    return files(out / "season")


@pytest.mark.parametrize("form", CORPORA)
def test_one_two_and_three_processes_build_the_same_files(form, tmp_path):
    corpus = CORPORA[form](tmp_path / "corpus")
    alone = build(corpus, tmp_path / "alone", "--form", form)
    assert json.loads(alone["datasheet.json"])["selected"] > 0
    one, two, three = (
        build(
            corpus,
            tmp_path / str(jobs),
            "--jobs",
            str(jobs),
            "--work",
            str(tmp_path / f"work{jobs}"),
        )
        for jobs in (1, 2, 3)
    )
    assert alone == one == two == three
    assert len(list((tmp_path / "work3" / "parts").iterdir())) > 2


def test_a_resolution_season_is_the_same_whatever_reads_its_corpus(tmp_path):
    corpus = write_collection(tmp_path / "corpus")
    found = []
    for jobs in ("1", "3"):
        out = tmp_path / jobs / "season"
        command = [
            "build-resolution",
            str(corpus),
            "--out",
            str(out),
            "--fewest-references",
            "4",
        ]
        assert main([*command, "--with-texts", "--jobs", jobs]) == 0
        found.append(files(out))
    assert found[0] == found[1]


def test_parts_of_speech_are_the_same_whoever_tags_them(tmp_path, shared, monkeypatch):
    monkeypatch.setattr(tagging, "CONTEXTS_PER_RANGE", 50)
    corpus = write_corpus(tmp_path / "corpus", papers=4)
    pipeline = ("--tagger", str(shared / "spacy" / "en_test_sm"))
    kept = ("--work", str(tmp_path / "work"), *pipeline)
    alone, two = (
        build(corpus, tmp_path / "alone", *pipeline),
        build(corpus, tmp_path / "two", "--jobs", "2", *kept),
    )
    [folder] = (tmp_path / "work").glob("tags-*")
    assert len(list(folder.iterdir())) == 3
    min(folder.iterdir()).unlink()
    assert alone == two == build(corpus, tmp_path / "again", *kept)
    assert b'"pos_before"' in alone["gold/diagnostic.jsonl"]


def test_a_build_that_was_killed_goes_on_where_it_was(tmp_path):
    corpus, work = write_corpus(tmp_path / "corpus"), tmp_path / "work"
    whole = build(corpus, tmp_path / "whole")
    command = [
        "build-diagnostic",
        str(corpus),
        "--out",
        str(tmp_path / "killed"),
        "--tagger",
        "none",
    ]
    program = [
        sys.executable,
        "-m",
        "tests.scoring.builders.interrupted",
        str(STRETCH),
        "3",
    ]
    ended = subprocess.run(
        [*program, *command, "--work", str(work)], cwd=ROOT, check=False
    )
    assert ended.returncode == -signal.SIGKILL
    (work / "parts" / "000003.x.unfinished").write_text("half a part")
    kept = {path.name: path.stat().st_ino for path in (work / "parts").glob("00000?")}
    assert set(kept) == {"000000", "000001", "000002"}
    assert (
        build(corpus, tmp_path / "resumed", "--work", str(work), "--jobs", "2") == whole
    )
    assert {name: (work / "parts" / name).stat().st_ino for name in kept} == kept
    assert not list(work.rglob("*.unfinished"))


def test_a_process_that_is_killed_costs_no_more_than_its_own_task(tmp_path):
    steps = [Step(out=tmp_path / f"{number}") for number in range(6)]
    steps[2] = Step(out=tmp_path / "2", killed=tmp_path / "killed")
    Workers(jobs=2).run(take, steps)
    assert [step.out.read_text() for step in steps] == list("012345")
    assert (tmp_path / "killed").exists()


def test_a_task_that_always_kills_its_process_is_given_up(tmp_path):
    with pytest.raises(InputRefused, match=r"killed 5 times.*fewer processes"):
        Workers(jobs=2).run(always_killed, [Step(out=tmp_path / "0")])


@pytest.mark.parametrize("jobs", [1, 2])
def test_of_several_faults_the_first_is_told(jobs, tmp_path):
    steps = [
        Step(out=tmp_path / f"{n}", problem=f"fault {n}" if n in (1, 3) else "")
        for n in range(4)
    ]
    with pytest.raises(InputRefused, match=r"^fault 1$"):
        Workers(jobs=jobs).run(take, steps)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_bad_line_is_named_by_its_number_in_the_whole_file(jobs, tmp_path, capsys):
    corpus = write_corpus(tmp_path / "corpus")
    lines = (corpus / "contexts.jsonl").read_text().splitlines(keepends=True)
    (corpus / "contexts.jsonl").write_text(
        "".join([*lines[:201], "{broken\n", *lines[201:]])
    )
    out = [
        "--out",
        str(tmp_path / "season"),
        "--tagger",
        "none",
        "--work",
        str(tmp_path / "work"),
    ]
    assert main(["build-diagnostic", str(corpus), "--jobs", jobs, *out]) != 0
    assert "contexts.jsonl:202: " in capsys.readouterr().err


def test_a_line_belongs_to_the_stretch_in_which_it_begins(tmp_path):
    rows = [{"n": number, "x": "y" * (number % 17)} for number in range(50)]
    path = write_lines(tmp_path / "rows.jsonl", rows)
    size = path.stat().st_size
    for step in (1, 7, 16, 33, size):
        bounds = [(start, min(start + step, size)) for start in range(0, size, step)]
        assert [
            row for start, end in bounds for row in iterate_records(path, start, end)
        ] == rows


def test_a_context_that_stands_in_two_parts_is_refused(tmp_path, capsys):
    corpus = write_corpus(tmp_path / "corpus")
    lines = (corpus / "contexts.jsonl").read_text().splitlines(keepends=True)
    (corpus / "contexts.jsonl").write_text("".join([*lines, lines[7]]))
    for jobs in ("1", "2"):
        out = ["--out", str(tmp_path / "season"), "--tagger", "none", "--jobs", jobs]
        assert main(["build-diagnostic", str(corpus), *out]) != 0
        assert (
            "context “p000_0007” stands in the corpus twice" in capsys.readouterr().err
        )


def _of_another_corpus(corpus: Path, work: Path) -> None:
    build(corpus, work.parent / "first", "--work", str(work))
    with (corpus / "papers.jsonl").open("a") as file:
        file.write('{"paper_id": "more"}\n')


def _with_other_files(corpus: Path, work: Path) -> None:
    work.mkdir()
    (work / "thesis.tex").write_text("mine")


def _with_a_broken_manifest(corpus: Path, work: Path) -> None:
    work.mkdir()
    (work / "work.json").write_text("{")


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (
            _of_another_corpus,
            "were read otherwise: files differ; expected the same corpus and options",
        ),
        (_with_other_files, "the folder has other files; expected an empty one"),
        (_with_a_broken_manifest, "were read otherwise: version, form, with_texts"),
    ],
)
def test_a_work_folder_of_something_else_is_refused_and_left_alone(
    spoil, told, tmp_path, capsys
):
    corpus, work = write_corpus(tmp_path / "corpus"), tmp_path / "work"
    spoil(corpus, work)
    before = files(work)
    out = ["--out", str(tmp_path / "season"), "--tagger", "none", "--work", str(work)]
    assert main(["build-diagnostic", str(corpus), *out]) != 0
    assert told in capsys.readouterr().err
    assert files(work) == before


def test_two_builds_never_share_a_work_folder(tmp_path, capsys):
    corpus, work = write_corpus(tmp_path / "corpus"), tmp_path / "work"
    build(corpus, tmp_path / "first", "--work", str(work))
    with (work / "lock").open("w") as lock:
        flock(lock, LOCK_EX)
        out = [
            "--out",
            str(tmp_path / "season"),
            "--tagger",
            "none",
            "--work",
            str(work),
        ]
        assert main(["build-diagnostic", str(corpus), *out]) != 0
    assert (
        "another build works in this folder; expected one build at a time"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize("jobs", ["0", "-1", "two", "1.5"])
def test_a_number_of_processes_is_a_whole_one(jobs, tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(
            [
                "build-diagnostic",
                str(tmp_path),
                "--out",
                str(tmp_path / "season"),
                f"--jobs={jobs}",
            ]
        )
    assert "is not a number of processes" in capsys.readouterr().err


def test_a_cluster_needs_a_folder_that_its_machines_share(tmp_path, capsys):
    corpus = write_corpus(tmp_path / "corpus")
    out = [
        "--out",
        str(tmp_path / "season"),
        "--tagger",
        "none",
        "--cluster",
        "tcp://127.0.0.1:1",
    ]
    assert main(["build-diagnostic", str(corpus), *out]) != 0
    assert "--cluster needs --work" in capsys.readouterr().err


def test_without_its_package_a_cluster_is_told_to_be_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(SoftwareUnavailable, match="needs the package distributed"):
        Workers(cluster="tcp://127.0.0.1:1").run(take, [Step(out=tmp_path / "0")])


@pytest.fixture
def cluster():
    distributed = pytest.importorskip(
        "distributed", reason="the package distributed is not installed"
    )
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(processes=True, **options) as running:
        yield running.scheduler_address


# Which it says of a disk that is busy.
@pytest.mark.filterwarnings("ignore:Creating scratch directories:UserWarning")
def test_a_cluster_builds_the_same_files_and_survives_the_death_of_a_worker(
    cluster, tmp_path
):
    corpus = unarxive(tmp_path / "corpus")
    work = ("--cluster", cluster, "--work", str(tmp_path / "work"))
    assert build(corpus, tmp_path / "cluster", *work) == build(
        corpus, tmp_path / "alone"
    )
    steps = [Step(out=tmp_path / f"{number}") for number in range(6)]
    steps[2] = Step(out=tmp_path / "2", killed=tmp_path / "killed")
    Workers(cluster=cluster).run(take, steps)
    assert [step.out.read_text() for step in steps] == list("012345")
    assert (tmp_path / "killed").exists()


def test_a_cluster_that_does_not_answer_is_named(tmp_path, monkeypatch):
    pytest.importorskip(
        "distributed", reason="the package distributed is not installed"
    )
    monkeypatch.setattr("scoring.tools.builders.parts.CLUSTER_TIMEOUT_SECONDS", 1)
    with pytest.raises(
        SoftwareUnavailable, match=r"no cluster answers at tcp://127.0.0.1:1"
    ):
        Workers(cluster="tcp://127.0.0.1:1").run(take, [Step(out=tmp_path / "0")])
