"""A season that runs while its site is upgraded: its gold and all its runs are read as they were."""

import pytest
from django.test import Client

from scoring.models import Score
from tasks.gold.gold_files import load_gold, record_gold_version, store_prepared_gold
from tasks.gold.packing import prepare_gold
from tasks.models import Gold, Phase
from tasks.models.declarations import store_declaration
from tasks.types.declared.folder import read_declaration
from tasks.types.files import CURRENT_PARSING_RULES_VERSION, open_files_of_all_inputs
from tests import factories
from tests.api.conftest import API
from tests.api.sending import check, score

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

TOML = """[task]
slug = "own"
title = "Own"
form = "labels"

[task.gold]
files = "tsv"
field = "label"
shown = ["text"]

[task.answer]
labels = ["yes", "no"]

[[task.rules]]
name = "corrected"
measures = ["accuracy"]
"""
GOLD = 'id\ttext\tlabel\na\t"In ""marks"""\tyes\nb\tPlain\tno\n'
#: Version 1 takes the later of two keys.
TWICE = b'{"id": "a", "label": "no", "label": "yes"}\n{"id": "b", "label": "no"}\n'
TABLE = b"id,label\na,yes\nb,yes\n"


@pytest.fixture
def gold_file(tmp_path):
    path = tmp_path / "gold.tsv"
    path.write_text(GOLD)
    return path


@pytest.fixture
def phase(gold_file, tmp_path) -> Phase:
    """As a release before version 2 left it."""
    kind = read_declaration({"task.toml": TOML})
    task = factories.make_task(type=kind.slug, declaration=store_declaration(kind))
    phase = factories.make_phase(task=task, with_gold=False)
    files = open_files_of_all_inputs([gold_file], reading=1)
    prepared = prepare_gold(kind, files, {}, tmp_path)
    record_gold_version(
        task=task,
        split=phase.split,
        kept=store_prepared_gold(prepared),
        reason="First.",
    )
    return phase


def values(phase: Phase) -> dict[str, tuple[float, str]]:
    scores = Score.objects.filter(evaluation__phase=phase).select_related("shared")
    return {
        f"{one.evaluation.submission.system}, v{one.evaluation.gold.number}": (
            one.value,
            one.shared.column,
        )
        for one in scores
    }


def sent(phase: Phase, content: bytes, system: str):
    team = factories.make_team(season=phase.task.season)
    run = factories.make_submission(
        phase=phase, team=team, content=content, system=system
    )
    score(run)
    return run


def test_runs_before_and_after_the_upgrade_are_read_as_the_gold_was(phase, gold_file):
    gold = Gold.objects.get()
    sent(phase, TWICE, "A")
    sent(phase, TABLE, "B")
    found = values(phase)
    assert [found[name][0] for name in ("A, v1", "B, v1")] == [1, 0.5]
    assert not any("reading:" in column for _, column in found.values())
    again, is_new = load_gold(
        task=phase.task, split=phase.split, paths=[gold_file], reason="Once more."
    )
    assert (again.pk, is_new, again.reading_version) == (gold.pk, False, 1)
    assert values(phase) == found


def test_an_act_that_reads_the_gold_again_reads_and_scores_its_runs_again(phase):
    client = Client()
    organiser = factories.make_user()
    phase.task.season.organisers.create(user=organiser)
    client.force_login(organiser)
    runs = [sent(phase, TWICE, "A"), sent(phase, TABLE, "B")]
    asked = {"read_again": "true", "reason": "The current rules."}
    address = f"{API}/tasks/{phase.task_id}/gold/"
    rehearsed = client.post(f"{address}?dry_run=true", asked)
    assert rehearsed.status_code == 200, rehearsed.content
    assert Gold.objects.count() == 1
    answer = client.post(address, asked)
    assert answer.status_code == 201, answer.content
    assert (answer.json()["number"], answer.json()["reading_version"]) == (
        2,
        CURRENT_PARSING_RULES_VERSION,
    )
    assert (answer.json()["instances"], answer.json()["rows"]) == (2, 2)
    assert [*runs[1].jobs.filter(state="queued")], "its runs are rescored"
    score(runs[1])
    found = values(phase)
    assert found["B, v2"][0] == 0.5
    assert f"|reading:{CURRENT_PARSING_RULES_VERSION}|" in found["B, v2"][1]
    assert found["A, v1"][0] == 1, "a run that the new rules refuse keeps its number"
    problems = check(client, phase, TWICE).json()
    assert "occurs twice" in str(problems)
    assert client.post(address, asked).status_code == 400, "it is read by them already"
