"""Whoever has the gold and the run gets the numbers of the page by pasting the command that stands on it."""

import html
import json
import re
import shlex
import zipfile
from pathlib import Path

import pytest
from django.urls import reverse

from citeboard.core import storage
from scoring.__main__ import main
from scoring.models import Evaluation
from scoring.worker.score import score as score_as_worker
from tasks.gold.gold_files import load_gold
from tasks.models import Submission
from tasks.submissions.submit import submit_run
from tasks.types import TaskType, task_types
from tests import factories
from tests.api.sending import score
from tests.scoring import compared
from tests.tasks.test_every_type import sample, sample_options

pytestmark = pytest.mark.django_db

TYPES = list(task_types().values())


def sent(task_type: TaskType, folder) -> Submission:
    """The sample of a task type, sent to a phase of a site that has its gold."""
    gold, run, _ = sample(task_type)
    options = dict(
        word.split("=", 1) for word in sample_options(task_type) if word != "--option"
    )
    task = factories.make_task(
        type=task_type.slug, rules=list(task_type.rules), options=options
    )
    phase = factories.make_phase(task=task, with_gold=False)
    load_gold(task=task, split=phase.split, paths=gold, reason="first release")
    name = run.name
    if run.is_dir():
        name = f"{run.name}.zip"
        with zipfile.ZipFile(folder / name, "w") as archive:
            for path in sorted(each for each in run.rglob("*") if each.is_file()):
                archive.write(path, path.relative_to(run))
        run = folder / name
    upload = factories.make_upload(run.read_bytes(), filename=name)
    team = factories.make_team(season=task.season)
    user = team.memberships.get().user
    return submit_run(
        phase=phase, team=team, user=user, upload=upload, system="The sample"
    )


def commands(client, run: Submission) -> list[list[str]]:
    """The words of every command on the run's page."""
    client.force_login(run.submitted_by)
    page = client.get(reverse("submission", args=[run.pk])).content.decode()
    found = re.findall(r"<pre[^>]*><code>(python -m scoring score [^<]+)</code>", page)
    return [shlex.split(html.unescape(each)) for each in found]


def at_hand(run: Submission, folder, monkeypatch) -> None:
    """What a reader needs in the folder they are in: the run, and what organisers may give,
    gold with its nonce and the files of the task's options, of which the page names no folder.
    """
    folder.mkdir()
    for value in run.phase.task.options.values():
        if Path(value).is_absolute():
            (folder / Path(value).name).symlink_to(value)
    gold = run.phase.task.gold.get()
    storage.copy_to_local_folder(storage.gold_file_storage, gold.file, folder).rename(
        folder / "GOLD.zip"
    )
    (folder / "NONCE").write_text(gold.nonce)
    storage.copy_to_local_folder(storage.run_file_storage, run.file, folder).rename(
        folder / run.filename
    )
    monkeypatch.chdir(folder)


def pasted(words: list[str], capsys) -> dict:
    assert words[:3] == ["python", "-m", "scoring"]
    assert (
        main([*(word.replace("GOLD", "GOLD.zip") for word in words[3:]), "--json"]) == 0
    )
    return json.loads(capsys.readouterr().out)


def assert_same_numbers(evaluation: Evaluation, printed: dict) -> None:
    scores = {each.metric: each for each in evaluation.scores.all()}
    assert list(scores) == list(printed["metrics"])
    for name, told in printed["metrics"].items():
        kept = scores[name]
        assert (told["n"], told["column"], told["signature"]) == (
            kept.n,
            kept.column,
            kept.signature,
        )
        for part, digits in (("value", 1e-12), ("low", 1e-10), ("high", 1e-10)):
            assert_same(told[part], getattr(kept, part), digits, name)


def assert_same(
    told: float | None, kept: float | None, digits: float, name: str
) -> None:
    if told is None or kept is None:
        assert told is kept is None, name
    else:
        assert told == pytest.approx(kept, rel=digits, abs=0), name


@pytest.mark.parametrize("task_type", TYPES, ids=[kind.slug for kind in TYPES])
def test_the_command_on_the_page_gives_the_numbers_of_the_page(
    client, capsys, monkeypatch, tmp_path, task_type
):
    run = sent(task_type, tmp_path)
    score(run)
    found = commands(client, run)
    assert len(found) == len(task_type.rules)
    at_hand(run, tmp_path / "pasted", monkeypatch)
    for words, rules in zip(found, task_type.rules, strict=True):
        printed = pasted(words, capsys)
        assert printed["rules"] == rules
        assert_same_numbers(run.evaluations.get(rules=rules), printed)


def test_so_it_is_with_what_a_worker_has_scored(client, capsys, monkeypatch, tmp_path):
    run = factories.make_submission(
        phase=compared.make_phase(), content=compared.run_content(7)
    )
    score_as_worker(run.jobs.get().pk)
    at_hand(run, tmp_path / "pasted", monkeypatch)
    [words] = commands(client, run)
    assert words[words.index("--method") + 1] == "wilson-jackknife"
    evaluation = run.evaluations.get()
    assert all(each.low is not None for each in evaluation.scores.all())
    assert_same_numbers(evaluation, pasted(words, capsys))
