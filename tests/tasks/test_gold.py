"""Gold on the site: numbered versions, what follows from them without gold, and what a fix sets in motion."""

import io
import json
import zipfile
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from citeboard.core import storage
from tasks.gold.gold_files import load_gold, load_instance_index_of_gold
from tasks.models import Gold, Job
from tasks.types import InputRefused
from tasks.types.files import open_input_files
from tests.factories import (
    make_gold,
    make_phase,
    make_submission,
    make_task,
    make_team,
    run_bytes,
    write_corpus,
)
from tests.tasks.types.corpus import answer_line, write_topic

pytestmark = pytest.mark.django_db
OTHER = (
    ("D05-0001", "3", ["4"], "Aim_Citation"),
    ("D05-0002", "7", ["2"], "Results_Citation"),
)


@pytest.fixture
def phase():
    return make_phase(with_gold=False)


@pytest.fixture
def corpus(tmp_path) -> Path:
    return write_corpus(tmp_path / "corpus")


def load(phase, *paths: Path, reason: str = "first release") -> tuple[Gold, bool]:
    return load_gold(task=phase.task, split=phase.split, paths=paths, reason=reason)


def content(name: str) -> bytes:
    with storage.gold_file_storage.open(name) as stored:
        return stored.read()


def members(name: str) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content(name))) as archive:
        return {member: archive.read(member) for member in archive.namelist()}


def run_command(name, *arguments, **options) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command(name, *arguments, stdout=out, stderr=err, **options)
    except CommandError as failed:
        return out.getvalue(), f"{err.getvalue()}{failed}"
    return out.getvalue(), err.getvalue()


@pytest.mark.both_databases
def test_gold_becomes_version_1_with_what_follows_from_it(phase, corpus):
    gold, is_new = load(phase, corpus)
    assert is_new
    assert (gold.number, gold.instances, gold.reason) == (1, 4, "first release")
    assert sorted(members(gold.file)) == [
        f"corpus/{topic}/{part}"
        for topic in ("D01-0001", "D01-0002")
        for part in (f"Reference_XML/{topic}.xml", f"annotation/{topic}.annv3.txt")
    ]
    assert sorted(load_instance_index_of_gold(gold)["topics"]) == [
        "D01-0001",
        "D01-0002",
    ]
    assert "D01-0001/Reference_XML/D01-0001.xml" in members(gold.public)
    assert Gold.objects.current(phase) == gold


@pytest.mark.both_databases
def test_the_same_content_again_is_the_same_version(phase, corpus, tmp_path):
    first, _ = load(phase, corpus)
    (corpus / "README.txt").write_text("Not part of the gold.")
    assert load(phase, corpus, reason="again") == (first, False)
    packed = tmp_path / "packed.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for path in sorted(corpus.rglob("*.*")):
            archive.write(path, path.relative_to(tmp_path))
    assert load(phase, packed) == (first, False)
    topics = sorted(folder for folder in corpus.iterdir() if folder.is_dir())
    assert load(phase, *reversed(topics)) == (first, False)
    assert Gold.objects.count() == 1


def test_the_same_files_give_the_same_archives_byte_for_byte(phase, corpus):
    gold, _ = load(phase, corpus)
    other = make_phase(task=make_task(type="clsumm-1a"), with_gold=False)
    same, _ = load(other, corpus)
    assert (same.file, same.index, same.public) == (gold.file, gold.index, gold.public)


@pytest.mark.both_databases
def test_other_content_is_the_next_version_and_the_first_one_stays(
    phase, corpus, tmp_path
):
    first, _ = load(phase, corpus)
    before = content(first.file)
    second, is_new = load(
        phase, write_corpus(tmp_path / "fixed", citances=OTHER), reason="A fix."
    )
    assert (is_new, second.number, second.reason) == (True, 2, "A fix.")
    assert Gold.objects.current(phase) == second
    assert content(first.file) == before
    back, is_new = load(phase, corpus, reason="The fix was wrong.")
    assert (is_new, back.number, back.digest) == (True, 3, first.digest)


@pytest.mark.both_databases
def test_a_new_version_changes_the_version_of_its_phases_alone(phase, corpus):
    same_split = make_phase(task=phase.task, with_gold=False)
    other_split = make_phase(task=phase.task, split="other", with_gold=False)
    load(phase, corpus)
    load(phase, corpus)
    versions = []
    for each in (phase, same_split, other_split):
        each.refresh_from_db()
        versions.append(each.version)
    assert versions == [2, 2, 1]


def test_public_inputs_are_packed_anew_without_a_new_version(phase, corpus):
    """Papers that cite are no gold; a corrected one reaches participants under the same version."""
    gold, _ = load(phase, corpus)
    (corpus / "D01-0001" / "Citance_XML").mkdir()
    (corpus / "D01-0001" / "Citance_XML" / "D05-0001.xml").write_text("<PAPER></PAPER>")
    again, is_new = load(phase, corpus)
    assert (again.pk, is_new) == (gold.pk, False)
    assert again.public != gold.public
    assert "D01-0001/Citance_XML/D05-0001.xml" in members(again.public)
    assert any(
        name.endswith("Citance_XML/D05-0001.xml") for name in members(again.file)
    )


def test_a_file_that_an_interrupted_load_left_is_written_again(phase, corpus):
    gold, _ = load(phase, corpus)
    whole = content(gold.file)
    with storage.gold_file_storage.open(gold.file, "wb") as stored:
        stored.write(whole[:20])
    load(phase, corpus)
    gold.refresh_from_db()
    assert content(gold.file) == whole


def test_every_line_that_is_wrong_in_gold_is_told_at_once_and_nothing_is_kept(
    phase, corpus
):
    one = corpus / "D01-0001" / "annotation" / "D01-0001.annv3.txt"
    two = corpus / "D01-0002" / "annotation" / "D01-0002.annv3.txt"
    one.write_text("no annotation\n" + one.read_text())
    two.write_text(
        two.read_text() + "\nCitance Number: 3 | Reference Article: D01-0002.xml |\n"
    )
    with pytest.raises(InputRefused) as refused:
        load(phase, corpus)
    assert [(problem.file, problem.line) for problem in refused.value.problems] == [
        (str(one), 1),
        (str(two), 5),
    ]
    assert not Gold.objects.exists()


def test_two_folders_of_one_name_are_refused_rather_than_mixed(phase, tmp_path):
    for root, topic in (("a", "D01-0001"), ("b", "D01-0002")):
        write_topic(tmp_path / root / "gold", topic)
        (tmp_path / root / "gold" / "annotation").mkdir()
    shared = [tmp_path / root / "gold" for root in ("a", "b")]
    for folder in shared:
        (folder / "annotation" / "note.txt").write_text("seen twice")
    with pytest.raises(
        InputRefused,
        match=r"another file of this gold is called gold/annotation/note.txt",
    ):
        load(phase, *shared)


def test_the_gold_that_was_stored_is_the_gold_that_was_read(phase, corpus, tmp_path):
    gold, _ = load(phase, corpus)
    copy = storage.copy_to_local_folder(storage.gold_file_storage, gold.file, tmp_path)
    task_type = phase.task.task_type
    assert (
        task_type.read_gold(
            open_input_files(copy), task_type.validate_options({})
        ).digest
        == gold.plain_digest
    )


CANARIES = ("Wombat", "Quokka", "Numbat")


@pytest.mark.parametrize("task_type", ["clsumm-1a", "clsumm-1b"])
def test_no_gold_leaves_through_the_index_or_the_public_inputs(task_type, tmp_path):
    """Each canary is a word of the gold that stands nowhere else: in texts, facets, annotators, summaries."""
    folder = write_topic(tmp_path / "corpus", "D01-0001", citances=())
    line = answer_line("D01-0001", "D05-0001", "3", ["2", "4"], facet="Method_Citation")
    line = line.replace("We count them well", f"{CANARIES[0]} counts").replace(
        "More could be", CANARIES[1]
    )
    line = line.replace(
        "Annotator: us", f"Annotator: {CANARIES[2]} | Remark: {CANARIES[2]}"
    )
    (folder / "annotation" / "D01-0001.annv3.txt").write_text(line)
    (folder / "annotation" / "D01-0001.annv2.txt").write_text(line)
    (folder / "annotation" / "notes.txt").write_text(CANARIES[1])
    (folder / "summary").mkdir()
    (folder / "summary" / "D01-0001.human.txt").write_text(" ".join(CANARIES))
    phase = make_phase(task=make_task(type=task_type), with_gold=False)
    gold, _ = load(phase, tmp_path / "corpus")

    private = b"".join(members(gold.file).values()).decode()
    assert all(canary in private for canary in CANARIES), "the canaries are in the gold"
    public = members(gold.public)
    said = content(gold.index).decode() + "".join(
        [*public, *(each.decode() for each in public.values())]
    )
    assert "D05-0001" in said, "the inputs say what is asked"
    for secret in (*CANARIES, "Method", "Reference Offset", "'2'", "'4'"):
        assert secret not in said


def test_the_public_inputs_check_a_run_as_the_index_does(phase, corpus, tmp_path):
    gold, _ = load(phase, corpus)
    inputs = storage.copy_to_local_folder(
        storage.gold_file_storage, gold.public, tmp_path
    )
    task_type = phase.task.task_type
    options = task_type.validate_options({})
    read = task_type.read_inputs(open_input_files(inputs), options)
    assert json.loads(json.dumps(read)) == load_instance_index_of_gold(gold)


def test_load_gold_makes_a_version_and_queues_every_scored_run_again(tmp_path):
    phase = make_phase()
    run = make_submission(phase=phase, status="scored")
    failed = make_submission(phase=phase, status="failed")
    fixed = write_corpus(tmp_path / "fixed", citances=OTHER)
    address = f"{phase.task.season.slug}/{phase.task.slug}"
    out, err = run_command(
        "load_gold", address, str(fixed), reason="Citance 1 was wrong."
    )
    assert err == ""
    assert out.splitlines() == [
        "split test: version 2, 4 instances from 4 rows",
        f"1 scorings queued in phase {phase.slug}",
    ]
    assert [job.gold.number for job in run.jobs.order_by("pk")] == [1, 2]
    assert failed.jobs.count() == 1
    run.refresh_from_db()
    assert run.status == "scored"
    out, _ = run_command(
        "load_gold", str(phase.task.pk), str(fixed), reason="Citance 1 was wrong."
    )
    assert out.splitlines() == [
        "split test: version 2, 4 instances from 4 rows, as it was"
    ]


def test_load_gold_tells_what_it_cannot_do(tmp_path):
    phase = make_phase(split="dev")
    make_phase(task=phase.task, split="test", with_gold=False)
    fixed = str(write_corpus(tmp_path / "fixed", citances=OTHER))
    address = f"{phase.task.season.slug}/{phase.task.slug}"
    assert (
        "--reason is empty" in run_command("load_gold", address, fixed, reason=" ")[1]
    )
    assert (
        f"there are {address}"
        in run_command("load_gold", "nothing/here", fixed, reason="A fix.")[1]
    )
    assert (
        "--split names one of dev, test"
        in run_command("load_gold", address, fixed, reason="A fix.")[1]
    )
    missing = run_command(
        "load_gold", address, str(tmp_path / "no"), reason="A fix.", split="dev"
    )[1]
    assert (
        missing
        == f"{tmp_path / 'no'}: there is no such file or folder\n1 problem; the gold stays as it was"
    )
    assert Gold.objects.count() == 1


@pytest.mark.both_databases
def test_rescore_queues_what_is_missing_and_nothing_twice():
    phase = make_phase()
    team = make_team(season=phase.task.season)
    runs = [
        make_submission(phase=phase, team=team, status=status)
        for status in ("scored", "queued")
    ]
    make_submission(phase=phase, team=team, status="withdrawn")
    address = f"{phase.task.season.slug}/{phase.task.slug}/{phase.slug}"
    assert (
        "queued or scored against gold v1 already" in run_command("rescore", address)[0]
    )
    phase.task.rules = ["corrected", "official-2017"]
    phase.task.save()
    out, _ = run_command("rescore", address)
    assert out.strip() == "2 scorings queued for 2 runs, against gold v1"
    assert {run.jobs.count() for run in runs} == {2}
    make_gold(phase=phase, citances=OTHER, reason="A fix.")
    assert run_command("rescore", str(phase.pk))[0].startswith(
        "4 scorings queued for 2 runs, against gold v2"
    )
    assert Job.objects.filter(state="queued").count() == 2 + 2 + 4 + 1


def test_rescore_tells_what_it_cannot_do():
    phase = make_phase(with_gold=False)
    assert "has no gold yet" in run_command("rescore", str(phase.pk))[1]
    known = f"{phase.task.season.slug}/{phase.task.slug}/{phase.slug}"
    for unknown in ("99999999999999999999", "0", "a/b/c", "a", "", "a/b/c/d"):
        assert (
            f"there is no phase “{unknown}”; there are {known}"
            in run_command("rescore", unknown)[1]
        )


def test_a_run_checked_against_an_index_is_read_only_once_from_storage(
    phase, corpus, monkeypatch
):
    gold, _ = load(phase, corpus)
    first = load_instance_index_of_gold(gold)
    monkeypatch.setattr(
        storage.gold_file_storage,
        "open",
        lambda *given: pytest.fail("the index was read again"),
    )
    assert load_instance_index_of_gold(gold) is first
    assert run_bytes()
