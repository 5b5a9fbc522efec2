"""The page on new task types is executed: five files are a task type, and all else takes it from there."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from citeboard.core import confinement
from citeboard.core.confined import pool
from scoring.__main__ import main
from scoring.results.board import formatting
from scoring.results.board.standings import compute_board
from scoring.tools import baselines
from scoring.worker import child
from scoring.worker.score import score
from tasks.models import Job, Phase, Submission
from tasks.seasons import cards
from tasks.types import registry, task_type, task_types
from tests import factories
from tests.kept_worlds import KeptWorld, keep_world, kept_folder
from tests.scoring import boards, offline
from tests.tasks import test_every_type as every_type
from tests.web.reading import text_of

PAGE = settings.BASE_DIR / "docs" / "new-task-type.md"
SLUG, PACKAGE = "citation-worthiness", "citation_worthiness"
BLOCK = re.compile(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```\n", re.DOTALL)
CACHES = (
    registry.task_types, registry._load_task_types, cards.load_card_of_task_type, baselines.baselines,
    formatting.collect_unambiguous_display_names, formatting._derive_name_from_metric_key,
)  # fmt: skip


def forget() -> None:
    for cached in CACHES:
        cached.cache_clear()


@pytest.fixture
def page() -> str:
    return PAGE.read_text()


@pytest.fixture
def files(page: str) -> dict[str, str]:
    return dict(BLOCK.findall(page))


@contextmanager
def installed_in(site: Path) -> Iterator[Path]:
    """Write the folder of the page as an installed package, found by its entry point and by nothing else."""
    page = PAGE.read_text()
    for name, content in BLOCK.findall(page):
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(content)
    [point] = re.findall(r'entry-points\."(.*)"\]\n(\S+ = )"(.*)"\n', page)
    info = site / "worthiness_example-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: worthiness-example\nVersion: 1.0\n"
    )
    (info / "entry_points.txt").write_text("[{}]\n{}{}\n".format(*point))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(site)
        for module, name in (
            (child, "build_scorer_environment"),
            (pool, "build_process_environment"),
        ):
            real = getattr(module, name)
            patch.setattr(
                module, name, lambda *given, real=real: with_path(real(*given), site)
            )
        patch.setattr(
            confinement,
            "SANDBOX_READABLE_CODE_FOLDERS",
            (*confinement.SANDBOX_READABLE_CODE_FOLDERS, site),
        )
        patch.setattr(
            confinement, "_create_pool", cache(confinement._create_pool.__wrapped__)
        )
        forget()
        try:
            yield site / PACKAGE
        finally:
            if confinement._create_pool.cache_info().currsize:
                confinement.get_sandbox_pool().close()
            forget()
            for module in [
                name for name in sys.modules if name.partition(".")[0] == PACKAGE
            ]:
                del sys.modules[module]


@pytest.fixture
def installed(tmp_path) -> Iterator[Path]:
    with installed_in(tmp_path / "site") as folder:
        yield folder


def with_path(environment: dict[str, str], site: Path) -> dict[str, str]:
    return {
        **environment,
        "PYTHONPATH": f"{environment['PYTHONPATH']}{os.pathsep}{site}",
    }


def write_season(season: Path, installed: Path) -> None:
    season.mkdir()
    for name in ("gold.jsonl", "run.jsonl"):
        twice(installed / "sample" / name, season / name)
    (season / "season.toml").write_text(
        '[season]\nslug = "cite"\ntitle = "When to cite"\npublic = true\n\n[[tasks]]\nslug = "worthiness"\n'
        f'title = "Citation worthiness"\ntype = "{SLUG}"\n\n[[tasks.gold]]\npaths = ["gold.jsonl"]\n\n'
        '[[tasks.phases]]\nslug = "open"\ntitle = "Open"\nopens = 2020-01-01T00:00:00Z\n'
        "closes = 2090-01-01T00:00:00Z\n"
    )


def twice(sample: Path, path: Path) -> None:
    """Each sentence again under another name, since classes of a few are not shown."""
    lines = list(map(json.loads, sample.read_text().splitlines()))
    again = [{**line, "id": f"{line['id']}-again"} for line in lines]
    path.write_text("".join(json.dumps(line) + "\n" for line in [*lines, *again]))


def worked_off() -> None:
    while job := Job.objects.filter(state="queued").first():
        score(job.pk)


def uploaded(client, phase: Phase, content: bytes, do: str = "submit"):
    run = SimpleUploadedFile("run.jsonl", content)
    data = {"run": run, "system": "Mine", "kind": "primary", "do": do}
    return client.post(boards.address("upload", phase), data)


def open_phase() -> Phase:
    return Phase.objects.get(task__season__slug="cite")


def make_board() -> None:
    """Load the season, and let a worker's child score the sample's run and the baseline."""
    folder = kept_folder()
    with installed_in(folder / "site") as package:
        write_season(folder / "season", package)
        call_command("load_season", str(folder / "season"))
        phase = open_phase()
        member = factories.make_user()
        factories.make_team(season=phase.task.season, lead=member)
        client = Client()
        client.force_login(member)
        uploaded(client, phase, (folder / "season" / "run.jsonl").read_bytes())
        call_command("run_baselines", "cite")
        worked_off()


@pytest.fixture(scope="module")
def kept_board(django_db_setup, django_db_blocker) -> KeptWorld:
    return keep_world(make_board, django_db_blocker)


@pytest.fixture
def board(db, kept_board, installed) -> Phase:
    """Its processes that read and score files start once for all tests."""
    kept_board()
    return open_phase()


def test_the_type_has_five_files_and_at_most_150_lines_of_python_and_card(files):
    assert len(files) == 5
    lines = [
        line
        for name, text in files.items()
        if name.endswith((".py", ".md"))
        for line in text.splitlines()
    ]
    assert 60 < len(lines) <= 150


def test_its_python_is_as_we_write_it(installed):
    for command in (["check"], ["format", "--check"]):
        told = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--no-cache", str(installed)],
            capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2],
        )  # fmt: skip
        assert told.returncode == 0, told.stdout


def test_an_installed_type_keeps_every_promise_that_a_built_in_one_keeps(
    installed, capsys, tmp_path, monkeypatch
):
    own = task_type(SLUG)
    monkeypatch.setattr(every_type, "folder", lambda _: installed)
    every_type.test_every_metric_reference_leads_to_a_metric_of_that_name_and_rule_set(
        own
    )
    every_type.test_rule_sets_are_the_corrected_one_and_official_ones(own)
    every_type.test_the_sample_scores_what_was_worked_out_by_hand(capsys, own)
    every_type.test_the_declared_dimensions_are_those_of_the_breakdowns(capsys, own)
    every_type.test_every_signature_opens_with_its_column_key_and_names_the_rules(
        capsys, own
    )
    every_type.test_the_public_files_check_a_run_as_the_gold_does(
        own, tmp_path / "public"
    )
    every_type.test_an_unknown_option_is_refused_by_name(own)
    every_type.test_the_card_says_what_a_participant_needs(own)
    every_type.test_instances_go_by_names_that_participants_know(own)


def test_the_same_folder_is_found_where_the_types_of_the_site_are(
    files, tmp_path, monkeypatch
):
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    own = sys.modules["tasks.types"].__path__
    monkeypatch.setattr(sys.modules["tasks.types"], "__path__", [*own, str(tmp_path)])
    forget()
    try:
        assert task_type(SLUG).title == "Citation worthiness"
        assert registry.read_card_text(SLUG).startswith("# Citation worthiness")
    finally:
        forget()
        for name in [
            name for name in sys.modules if name.startswith(f"tasks.types.{PACKAGE}")
        ]:
            del sys.modules[name]


def test_the_commands_of_the_page_do_what_they_say(
    page, installed, monkeypatch, capsys
):
    monkeypatch.chdir(installed)
    [block] = [
        text
        for text in re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
        if "baseline" in text
    ]
    commands = block.strip().splitlines()
    assert [command.split()[3] for command in commands] == [
        "check",
        "score",
        "baseline",
    ]
    for command in commands:
        assert main(command.split()[3:]) == 0, capsys.readouterr().err
    lines = [
        json.loads(line) for line in Path("majority.jsonl").read_text().splitlines()
    ]
    # p1 has one of each, as have p2 and p3 together: of equals the first.
    assert {line["id"]: line["label"] for line in lines} == dict.fromkeys(
        [line["id"] for line in lines], "yes"
    )


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            '{"id": "p1-1", "label": "perhaps"}',
            "“perhaps” is no label; expected one of yes, no",
        ),
        (
            '{"id": "p1-1", "label": true}',
            "“label” is true or false; expected one of yes, no",
        ),
        ('{"id": "p1-1"}', "“label” is missing; found “id”; expected one of yes, no"),
        ('{"id": "p1-1", "label": NaN}', "NaN is not a finite number"),
        ('{"id": "p1-1", "label": 1e999}', "1e999 is not a finite number"),
        ('{"id": "p9-9", "label": "no"}', "instance “p9-9” is not in this split"),
        ('{"label": "no"}', "“id” is missing"),
        ('{"id": "p1-2", "label": "no"}', "instance “p1-2” is answered a second time"),
        ("yes", "not JSON"),
    ],
)
def test_a_run_is_checked_by_line(installed, tmp_path, capsys, line, told):
    run = tmp_path / "run.jsonl"
    run.write_text(f'{{"id": "p1-2", "label": "yes"}}\n{line}\n')
    [found] = offline.refusals(capsys, SLUG, [installed / "sample" / "gold.jsonl"], run)
    assert f"{run}:2: {told}" in found


def test_gold_is_checked_by_line(installed, tmp_path, capsys):
    gold = tmp_path / "gold.jsonl"
    sentence = {
        "id": "a",
        "paper": "p",
        "section": "method",
        "sentence": "So.",
        "label": "yes",
    }
    wrong = [
        {**sentence, "label": "maybe"},
        {**sentence, "id": "b", "paper": [7]},
        {**sentence, "id": None},
    ]
    gold.write_text(
        "".join(json.dumps(each) + "\n" for each in (sentence, *wrong, sentence))
    )
    found = offline.refusals(capsys, SLUG, [gold], installed / "sample" / "run.jsonl")
    assert [line.removeprefix(f"{gold}:").split(";")[0] for line in found] == [
        "2: instance “a” is there twice",
        "2: “maybe” is no label",
        "3: “paper” is a list",
        "4: “id” is missing",
    ]
    assert found[0].endswith("(and 1 more line: 5)")


def test_a_bad_option_is_a_sentence_and_exit_code_2(installed, capsys):
    sample = installed / "sample"
    command = [
        "score",
        SLUG,
        "--gold",
        str(sample / "gold.jsonl"),
        "--run",
        str(sample / "run.jsonl"),
    ]
    assert main([*command, "--option", "labels=yes,no"]) == 2
    assert capsys.readouterr().err == (
        "python -m scoring: citation-worthiness has no option “labels”; it has unit\n"
    )


def test_a_refused_upload_names_its_lines_and_a_good_one_is_scored_as_offline(
    board, installed, tmp_path, client, capsys
):
    client.force_login(Submission.objects.exclude(team=None).get().team.members.get())
    refused = text_of(
        uploaded(client, board, b'{"id": "p1-1", "label": "perhaps"}\n', do="check")
    )
    assert "“perhaps” is no label" in refused
    season = tmp_path / "season"
    write_season(season, installed)
    expected = offline.score(
        capsys, SLUG, [season / "gold.jsonl"], season / "run.jsonl"
    )["metrics"]
    run = Submission.objects.exclude(team=None).get()
    scores = {row.metric: row.value for row in run.evaluations.get().scores.all()}
    assert scores == {name: metric["value"] for name, metric in expected.items()}


def test_it_stands_on_a_board_with_its_names_its_classes_and_its_baseline(
    board, client
):
    rows = compute_board(board, None).rows
    assert {(row.kind, row.rank) for row in rows} == {
        ("primary", 1),
        ("baseline", None),
    }
    page = text_of(client.get(boards.address("board", board)))
    assert "F1 of worthy sentences" in page
    assert "MCC" in page
    assert "0.6667" in page
    differences = text_of(client.get(boards.address("differences", board)))
    assert "introduction" in differences
    assert "method" in differences
    task = text_of(client.get(reverse("task", args=["cite", "worthiness"])))
    assert "Does a sentence of a paper need a citation?" in task


def test_the_api_and_the_exports_have_it_too(board, client):
    told = client.get(f"/api/v1/phases/{board.pk}/leaderboard/").json()
    assert [column["metric"] for column in told["columns"]] == ["f1", "accuracy", "mcc"]
    exported = client.get(boards.address("board-csv", board))
    assert b"citation-worthiness-majority" in b"".join(exported)


def test_a_package_that_cannot_be_loaded_or_takes_a_name_is_named(
    installed, monkeypatch
):
    points = {
        "gone:TASK_TYPE": "gone:TASK_TYPE cannot be loaded: ModuleNotFoundError",
        "json:dumps": "json:dumps is no TaskType",
        "tasks.types.clsumm_1a:TASK_TYPE": "both declare the task type “clsumm-1a”",
    }
    for value, told in points.items():
        point = metadata.EntryPoint(
            name="x", value=value, group=registry.ENTRY_POINT_GROUP
        )
        monkeypatch.setattr(
            "importlib.metadata.entry_points", lambda group, point=point: [point]
        )
        forget()
        with pytest.raises(registry.TaskTypeNotLoadable, match=re.escape(told)):
            task_types()
