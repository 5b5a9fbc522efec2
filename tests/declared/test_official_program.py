"""The official program of a task: its numbers, its sandbox, and what a hostile program reaches."""

import json
from datetime import UTC, datetime

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from citeboard.core import audit, confinement
from scoring.__main__ import main
from scoring.metrics.official import OfficialMeasure, format_program_inputs
from scoring.metrics.official_run import (
    PROGRAM_FOLDER,
    REFERENCE_FOLDER,
    RESULT_FOLDER,
    place_program,
)
from scoring.models import Score
from scoring.results.board.verdict import (
    RankedSystem,
    UntestedReason,
    decide_verdict_on_systems,
)
from tasks.models import Job, MeasuresFile, Phase, Season, Submission
from tasks.seasons.own_measures import decide_measures, store_uploaded_program
from tasks.types.declared import official_program, own_measures
from tasks.types.declared.folder import read_declaration, read_texts_of_folder
from tasks.types.declared.official_program import (
    MAX_PYTHON_CHARACTERS,
    OfficialProgram,
    ProgramInputLayout,
    format_program_json,
    is_program_json,
    list_missing_resource_warnings,
    parse_program_json,
    validate_program_json,
)
from tasks.types.declared.own_measures import refuse_to_compute_measure
from tasks.types.problems import InputRefused
from tests.declared.test_site import copied, folder, worked_off  # noqa: F401  (a fixture)
from tests.factories import make_user
from tests.scoring import boards
from tests.web.reading import text_of

RULES = "with-program"
COMMAND = "python3 $program/score.py $input $output"
SCORE = """
import json, os, sys
from sklearn.metrics import accuracy_score

def evil(gold):
    pass

gold = open(os.path.join(sys.argv[1], "ref", "gold.txt")).read().splitlines()
answers = open("/app/input/res/answers.txt").read().splitlines()
print(gold)
evil(gold)
scores = {"acc": accuracy_score(gold, answers), "n": len(gold)}
json.dump(scores, open(os.environ["output"] + "/scores.json", "w"))
open("/app/output/detailed_results.html", "w").write(str(gold))
"""
DECLARED = """
[task.program]
gold = "gold.txt"
answers = "answers.txt"
columns = ["acc", "n"]

[[task.rules]]
name = "with-program"
measures = [
    { name = "official_acc", column = "acc" },
    { name = "official_n", column = "n", scale = 0 },
    "accuracy",
]
"""


def with_program(season, score=SCORE, command=COMMAND, toml=DECLARED):
    """Give the task of the season an official program, whose rule set ranks."""
    place = season / "types" / "citation-intent"
    text = (place / "task.toml").read_text()
    if "[task.program]" not in text:
        (place / "task.toml").write_text(text + toml)
        card = place / "card.md"
        card.write_text(
            card.read_text().replace(
                "## Citation", f"### `{RULES}`\n\nThe program.\n\n## Citation"
            )
        )
        settings = season / "season.toml"
        settings.write_text(
            settings.read_text().replace(
                "min_class_size = 1",
                f'min_class_size = 1\nrules = ["{RULES}", "corrected"]',
            )
        )
    (place / "program.json").write_text(
        format_program_json(command, {"score.py": score})
    )
    return season


@pytest.fixture
def official(folder):  # noqa: F811
    return with_program(folder)


@pytest.fixture(autouse=True)
def as_before():
    before = own_measures.MeasureComputation.compute
    yield
    own_measures.set_measure_computation(before)


def worked_off_with(official, *, baselines: bool = False) -> dict[str, Job]:
    """Return the jobs of the first run by rule set."""
    call_command("load_season", str(official))
    if baselines:
        call_command("run_baselines", "field")
    worked_off()
    run = Submission.objects.order_by("pk").first()
    return {job.rules: job for job in Job.objects.filter(submission=run, kind="score")}


@pytest.mark.django_db
def test_its_numbers_rank_without_interval_or_test_beside_ours(official, client):
    jobs = worked_off_with(official, baselines=True)
    assert {job.state for job in jobs.values()} == {"done"}, jobs[RULES].reason
    scores = Score.objects.filter(evaluation__rules=RULES).order_by("pk")
    own = {score.metric: score for score in scores[:3]}
    assert own["official_acc"].value == own["accuracy"].value
    assert own["official_n"].value == 12
    assert (own["official_acc"].low, own["official_acc"].high) == (None, None)
    assert own["accuracy"].low is not None
    digest = MeasuresFile.objects.get().digest[:12]
    assert f"|program:{digest}|" in own["official_acc"].signature
    assert "scikit-learn:" in own["official_acc"].signature
    phase = Phase.objects.get()
    page = client.get(boards.address("board", phase)).content.decode()
    assert "acc (official program)" in page
    assert "detailed_results" not in page
    assert '<span class="over">Value</span>' in page
    german = client.get(
        boards.address("board", phase), headers={"Accept-Language": "de"}
    )
    assert "acc (offizielles Programm)" in german.content.decode()
    table = client.get(boards.address("board-csv", phase)).content.decode()
    assert table.splitlines()[0].index("official_acc") < table.index("accuracy")


def test_the_verdict_of_a_board_that_the_program_ranks_says_so():
    rows = [RankedSystem(submission=one, system=f"System {one}") for one in (1, 2)]
    verdict = decide_verdict_on_systems(rows, untested=UntestedReason.PROGRAM)
    assert verdict is not None
    assert verdict.text == (
        "System 1 has the best value of 2 ranked systems. "
        "The board is ranked by the official program, not tested."
    )


@pytest.mark.slow
@pytest.mark.django_db
def test_an_archive_has_the_program_which_verify_runs_with_leave_alone(
    official, tmp_path, capsys
):
    worked_off_with(official)
    Phase.objects.update(closes=datetime(2021, 1, 1, tzinfo=UTC))
    archive = tmp_path / "archive"
    options = ("--out", str(archive), "--archive", "--with-gold")
    call_command("export_season", "field", *options)
    [program] = archive.rglob("program.json")
    assert "accuracy_score" in program.read_text()
    own_measures.set_measure_computation(refuse_to_compute_measure)
    main(["verify", str(archive)])
    assert "--trust-measures" in capsys.readouterr().out
    assert main(["verify", str(archive), "--trust-measures", "--json"]) == 0
    verified = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert verified["equal"] == verified["numbers"] > 10
    program.write_text(program.read_text().replace("len(gold)}", "len(gold) + 1}"))
    assert main(["verify", str(archive), "--trust-measures", "--json"]) != 0


@pytest.mark.django_db
def test_its_numbers_wait_for_an_approval_of_this_very_text_and_ours_do_not(
    official, client
):
    jobs = worked_off_with(official)
    row, staff = MeasuresFile.objects.get(), make_user(is_staff=True)
    decide_measures(measures=row, decision="withdraw", by=staff)
    Job.objects.update(state="queued", attempt=0)
    worked_off()
    jobs = {job.rules: job for job in Job.objects.filter(kind="score")}
    assert jobs["corrected"].state == "done"
    assert jobs[RULES].state == "waiting"
    words = "The official program waits until the site's staff approve it."
    assert jobs[RULES].reason == words
    client.force_login(staff)
    page = client.get("/operate/measures/").content.decode()
    assert f"program.json {row.digest[:12]}" in page


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("setting", "value", "words"),
    [
        ("CONFINEMENT", "limits", "This machine has no sandbox for official programs"),
        ("OWN_MEASURES", "nobody", "This site stores official programs and runs none"),
    ],
)
def test_a_site_without_the_sandbox_stores_the_program_and_says_so(
    official, settings, setting, value, words
):
    setattr(settings, setting, value)
    jobs = worked_off_with(official)
    assert MeasuresFile.objects.get().is_official_program
    assert (jobs["corrected"].state, jobs[RULES].state) == ("done", "waiting")
    assert words in jobs[RULES].reason


@pytest.mark.django_db
def test_no_program_runs_in_a_phase_with_a_public_part(official, monkeypatch):
    settings = official / "season.toml"
    text = settings.read_text()
    settings.write_text(
        text.replace("[[tasks.phases]]\n", "[[tasks.phases]]\npublic_part = 50\n")
    )
    monkeypatch.setattr(
        "scoring.worker.program_sandbox.run_program_twice",
        lambda *_: pytest.fail("it ran"),
    )
    jobs = worked_off_with(official)
    assert (jobs["corrected"].state, jobs[RULES].state) == ("done", "waiting")
    assert "not run in a phase with a public and a private part" in jobs[RULES].reason
    assert not Score.objects.filter(evaluation__rules=RULES).exists()


@pytest.mark.django_db
def test_a_program_that_fails_is_told_to_organisers_without_its_words(official, caplog):
    evil = SCORE.replace("    pass\n", "    raise ValueError(str(gold))\n")
    jobs = worked_off_with(with_program(official, score=evil))
    assert jobs["corrected"].state == "done"
    assert jobs[RULES].state == "failed"
    told = [entry.text for entry in audit.find_history_of_place(Season.objects.get())]
    assert any("the official program ended in ValueError" in one for one in told)
    said = f"{told} {caplog.text} {jobs[RULES].reason}"
    assert "background" not in said


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("command", "source", "toml", "words"),
    [
        ("bash run.sh", SCORE, DECLARED, "“bash run.sh” is another command"),
        ("python2 score.py", SCORE, DECLARED, "“python2 score.py” is Python 2"),
        ("python3 other.py", SCORE, DECLARED, "runs no file of the program"),
        (COMMAND, "print 'no'", DECLARED, "score.py is no Python 3"),
        (COMMAND, SCORE, DECLARED.replace('name = "official_acc"', 'name = "acc"'),
         "expected official_acc"),
        (COMMAND, SCORE, DECLARED.replace('column = "acc"', 'column = "f1"'),
         "the official program has no column “f1”"),
        (COMMAND, SCORE, DECLARED.replace('"gold.txt"', '"../gold.txt"'),
         "“../gold.txt” is no name of a file"),
        (COMMAND, SCORE, DECLARED.replace("[task.program]", "[task.program]\nwidth = 0"),
         "“width” is 0"),
    ],
)  # fmt: skip
def test_what_cannot_be_an_official_program_is_refused_when_it_is_loaded(
    folder,  # noqa: F811
    command,
    source,
    toml,
    words,
    capsys,
):
    with pytest.raises(CommandError):
        call_command("load_season", str(with_program(folder, source, command, toml)))
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("several", ["several", "any_of"])
def test_a_program_is_run_on_one_label_for_each_instance(several):
    toml = f"""
[task]
slug = "t"
title = "T"
form = "labels"
[task.gold]
field = "gold"
[task.answer]
labels = ["a", "b", "c"]
{several} = true
{DECLARED}"""
    program = format_program_json(COMMAND, {"score.py": SCORE})
    with pytest.raises(InputRefused) as refused:
        read_declaration({"task.toml": toml, "program.json": program})
    assert "the program would get several labels" in {
        problem.message for problem in refused.value.problems
    }


def test_what_a_program_does_not_get_here_is_reported_before_it_runs():
    source = (
        "import no_such_package, subprocess, os, requests\nfrom helper import x\n"
        "os.system('ls')\nmodel.to('cuda')\n"
    )
    text = format_program_json(
        "python3 score.py", {"score.py": source, "helper.py": "x=1"}
    )
    assert list_missing_resource_warnings(parse_program_json(text)) == [
        "no_such_package is imported and not installed here",
        "it uses subprocess, os.system, and may start no other program",
        "it imports requests, and reaches no network",
        "it asks for a GPU, and gets none",
    ]


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"lib": "", "lib/data.txt": ""}, "“lib” is a file and a folder"),
        (
            {"more.py": "x = 1\n" * (MAX_PYTHON_CHARACTERS // 6)},
            "more than 512 KB of Python",
        ),
    ],
)
def test_files_that_no_folder_can_have_and_too_much_code_are_refused(files, words):
    faults = []
    text = format_program_json("python3 score.py", {"score.py": SCORE, **files})
    assert validate_program_json(text, "program.json", faults) is None
    assert [fault.message for fault in faults] == [words]
    assert not is_program_json(text)


@pytest.mark.parametrize(("length", "is_read"), [(200, True), (201, False)])
def test_a_path_of_a_program_has_at_most_200_characters(length, is_read):
    files = {"score.py": SCORE, "x" * length: ""}
    assert is_program_json(format_program_json("python3 score.py", files)) is is_read


def test_a_program_that_imports_the_main_module_is_read():
    text = format_program_json("python3 score.py", {"score.py": "import __main__\n"})
    assert list_missing_resource_warnings(parse_program_json(text)) == []


def test_pages_that_name_a_program_parse_none_of_its_code(monkeypatch):
    text = format_program_json("python3 score.py", {"score.py": SCORE})
    monkeypatch.setattr("ast.parse", None)
    assert MeasuresFile(text=text).is_official_program
    assert not MeasuresFile(text='{"command": 1, "files": {}}').is_official_program


def test_a_stored_declaration_is_read_without_parsing_its_program(
    official, monkeypatch
):
    files = read_texts_of_folder(official / "types" / "citation-intent")
    monkeypatch.setattr("ast.parse", None)
    assert read_declaration(files, parses_program=False).declared.program_rules
    with pytest.raises(TypeError):
        read_declaration(files)


@pytest.mark.django_db
def test_staff_see_what_a_waiting_program_lacks_and_a_confined_process_reads_it(
    client, monkeypatch
):
    client.force_login(make_user(is_staff=True))
    source = "import no_such_package, subprocess\n"
    text = format_program_json("python3 score.py", {"score.py": source})
    store_uploaded_program(text, by=make_user())
    monkeypatch.setattr(official_program, "list_missing_resource_warnings", None)
    page = text_of(client.get("/operate/measures/"))
    assert "no_such_package is imported and not installed here" in page
    assert "it uses subprocess, and may start no other program" in page
    decide_measures(
        measures=MeasuresFile.objects.get(), decision="approve", by=make_user()
    )
    assert "is imported and" not in text_of(client.get("/operate/measures/"))


@pytest.mark.django_db
def test_staff_are_told_of_a_program_that_is_too_large_to_be_read(client, monkeypatch):
    client.force_login(make_user(is_staff=True))
    text = format_program_json("python3 score.py", {"score.py": "import json, re\n"})
    store_uploaded_program(text, by=make_user())

    def refuse(*_args, **_kwargs):
        raise confinement.UploadUnreadable("it needed more than 1 MB")

    monkeypatch.setattr(confinement, "read_upload", refuse)
    answer = client.get("/operate/measures/")
    assert "could not be read within the limits of the site" in text_of(answer)


def test_a_label_of_thousands_of_digits_has_no_place_in_a_vector():
    layout = ProgramInputLayout(
        gold="g.txt", answers="a.txt", columns=("acc",), width=3
    )
    files = format_program_inputs(layout, ["1", "2"], ["9" * 5000, "3"])
    assert files == (b"1 0 0\n0 1 0\n", b"0 0 0\n0 0 1\n")


@pytest.mark.django_db
def test_a_program_whose_imports_are_not_installed_waits_for_them(official):
    source = SCORE.replace("import json", "import no_such_package, json")
    jobs = worked_off_with(with_program(official, score=source))
    assert jobs[RULES].state == "waiting"
    assert "imports no_such_package, which is not installed" in jobs[RULES].reason


@pytest.mark.parametrize(
    ("layout", "gold", "answers", "expected"),
    [
        ({}, ["a", "b"], ["a", "c\nd"], (b"a\nb\n", b"a\nc d\n")),
        ({}, ["a", "b"], ["a", None], None),
        ({"width": 2}, [1.0, 0.5, 2.0, 0.0], [1.0, 1.0, 1.0, 1.0],
         (b"1 0.5\n2 0\n", b"1 1\n1 1\n")),
        ({"width": 3}, ["1", "3"], ["2", "other"], (b"1 0 0\n0 0 1\n", b"0 1 0\n0 0 0\n")),
        ({"files": "csv", "field": "y"}, ["a", "b,c"], ["a", None],
         (b'id,y\r\n1,a\r\n2,"b,c"\r\n', b"id,y\r\n1,a\r\n")),
        ({"files": "jsonl"}, [0.5], [1.0],
         (b'{"id": "1", "label": 0.5}\n', b'{"id": "1", "label": 1.0}\n')),
        ({}, [("a", "b")], ["a"], None),
        ({}, ["a", ("b", "c")], ["a", "b"], None),
    ],
)  # fmt: skip
def test_gold_and_answers_reach_the_program_in_its_own_layout(
    layout, gold, answers, expected
):
    facts = {"gold": "g", "answers": "a", "columns": ("acc",)}
    assert (
        format_program_inputs(ProgramInputLayout(**facts, **layout), gold, answers)
        == expected
    )


def test_gold_and_answers_of_a_program_may_lie_in_folders_within_folders(tmp_path):
    program = OfficialProgram("", ("score.py",), {"score.py": ""})
    name = "2020/test/lines.txt"
    place_program(program, tmp_path, "/app", gold=(name, b"g"), answers=(name, b"r"))
    assert (tmp_path / REFERENCE_FOLDER / name).read_bytes() == b"g"
    assert (tmp_path / RESULT_FOLDER / name).read_bytes() == b"r"


def test_files_of_a_program_may_lie_in_folders_within_folders(tmp_path):
    name = "data/2020/labels.txt"
    program = OfficialProgram("", ("score.py",), {"score.py": "", name: "a"})
    place_program(program, tmp_path, "/app", gold=("g", b""), answers=("r", b""))
    assert (tmp_path / PROGRAM_FOLDER / name).read_text() == "a"


def test_a_part_of_the_split_and_a_class_have_no_number_of_the_program():
    text = format_program_json(COMMAND, {"score.py": SCORE})
    layout = ProgramInputLayout(
        gold="g", answers="a", columns=("acc",)
    ).to_json_values()
    metric = OfficialMeasure(
        "official_acc", RULES, text=text, layout=layout, column="acc"
    )
    rows = np.array([[3.0, 0.25]] * 3)
    assert metric.total(rows) == 0.25
    assert np.isnan([metric.total(rows[:part]) for part in range(3)]).all()
    assert np.isnan(metric.aggregate(rows.sum(axis=0)))
