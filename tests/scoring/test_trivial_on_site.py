"""Trivial runs where gold is published, and as a line of boards: who may see them, and when."""

import datetime as dt
import json

import pytest
from django.urls import reverse
from django.utils import timezone

from tasks.gold.gold_files import load_gold
from tasks.models import Gold, Organiser, Phase
from tasks.models.declarations import store_declaration
from tasks.models.seasons import increment_board_version
from tasks.types.declared.folder import read_declaration
from tests import factories
from tests.api.sending import score
from tests.scoring import compared
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db

TASK = """[task]
slug = "own"
title = "Own"
form = "labels"
[task.gold]
field = "label"
shown = ["text"]
[task.answer]
labels = ["a", "b", "c"]
[[task.rules]]
name = "corrected"
measures = ["accuracy"]
"""
GOLD = [{"id": f"x{n}", "text": f"T{n}.", "label": "aaab"[n % 4]} for n in range(20)]
LINE = "A run that knows nothing, constant , has 0.7500 of Accuracy. It always answers “a”."
SECRET = "Only organisers see this until the gold is released"


def lines(rows) -> bytes:
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()


def make_phase(tmp_path, toml: str, gold, answers) -> Phase:
    declared = read_declaration({"task.toml": toml, "card.md": "A card."})
    task = factories.make_task(
        type=declared.slug, declaration=store_declaration(declared), rules=["corrected"]
    )
    phase = factories.make_phase(task=task, with_gold=False, board="everyone")
    path = tmp_path / "gold.jsonl"
    path.write_bytes(lines(gold))
    load_gold(task=task, split=phase.split, paths=[path], reason="First.")
    score(factories.make_submission(phase=phase, content=lines(answers)))
    return phase


@pytest.fixture
def phase(tmp_path) -> Phase:
    answers = [{"id": row["id"], "label": "a"} for row in GOLD]
    return make_phase(tmp_path, TASK, GOLD, answers)


@pytest.fixture
def organiser(phase):
    user = factories.make_user()
    Organiser.objects.create(season=phase.task.season, user=user)
    return user


def place(phase) -> list[str]:
    return [phase.task.season.slug, phase.task.slug, phase.slug]


def test_the_version_keeps_its_anomalies_and_what_trivial_runs_score(phase):
    gold = Gold.objects.get()
    assert [finding["kind"] for finding in gold.findings] == ["label_absent"]
    assert (gold.trivial["instances"], gold.trivial["constant"]) == (20, "a")
    assert gold.trivial["runs"]["constant"] == {"accuracy": 0.75}


def test_organisers_read_them_where_gold_is_published(phase, client, organiser):
    client.force_login(organiser)
    page = text_of(client.get(reverse("organise-gold", args=[phase.task.season.slug])))
    assert "What runs that know nothing score" in page
    assert "constant “a” accuracy 0.7500" in page
    assert "no instance has the label “c”" in page


@pytest.mark.both_databases
def test_the_best_one_is_a_line_on_the_board_for_organisers_until_gold_is_released(
    phase, client, organiser
):
    board = reverse("board", args=place(phase))
    pages = [board, f"{board}embed/", f"/api/v1/phases/{phase.pk}/leaderboard/"]
    for address in pages:
        shown = client.get(address).content.decode()
        assert "constant" not in shown
        assert "knows nothing" not in shown
    client.force_login(organiser)
    seen = text_of(client.get(board))
    assert LINE in seen
    assert SECRET in seen
    client.logout()
    over = timezone.now() - dt.timedelta(hours=1)
    Phase.objects.filter(pk=phase.pk).update(closes=over, gold_is_public=True)
    increment_board_version(phase.pk)
    released = text_of(client.get(board))
    assert LINE in released
    assert "constant a run that knows nothing 0.7500" in released
    assert SECRET not in released


def test_confirmed_results_show_the_line_as_well(phase, client):
    over = timezone.now() - dt.timedelta(hours=1)
    facts = {"closes": over, "confirms_results": True}
    Phase.objects.filter(pk=phase.pk).update(**facts)
    increment_board_version(phase.pk)
    board = reverse("board", args=place(phase))
    assert LINE not in text_of(client.get(board))
    Phase.objects.filter(pk=phase.pk).update(confirmation_ended_at=timezone.now())
    increment_board_version(phase.pk)
    assert LINE in text_of(client.get(board))


def test_confirmed_results_do_not_show_a_text_of_hidden_gold(tmp_path, client):
    toml = TASK.replace('form = "labels"', 'form = "text"')
    toml = toml.replace('labels = ["a", "b", "c"]', 'field = "text"')
    toml = toml.replace('field = "label"', 'field = "reply"').replace(
        '"accuracy"', '"exact_match"'
    )
    replies = ["Some secret words."] * 15 + [f"No {n}." for n in range(15)]
    gold = [
        {"id": f"x{n}", "text": f"T{n}.", "reply": reply}
        for n, reply in enumerate(replies)
    ]
    answers = [{"id": row["id"], "text": "Whatever."} for row in gold]
    phase = make_phase(tmp_path, toml, gold, answers)
    assert Gold.objects.get().trivial["constant"] == "Some secret words."
    over = timezone.now() - dt.timedelta(hours=1)
    facts = {"closes": over, "confirms_results": True, "confirmation_ended_at": over}
    Phase.objects.filter(pk=phase.pk).update(**facts)
    increment_board_version(phase.pk)
    page = text_of(client.get(reverse("board", args=place(phase))))
    assert "A run that knows nothing, constant , has" in page
    assert "secret words" not in page


def test_the_best_run_of_a_built_in_type_is_the_last_row_of_its_board(client):
    phase = compared.make_phase(board="everyone", gold_is_public=True)
    compared.scored(phase, 3)
    gold = Gold.objects.get()
    assert {"first", "longest", "random", "constant"} <= gold.trivial["runs"].keys()
    Phase.objects.filter(pk=phase.pk).update(
        closes=timezone.now() - dt.timedelta(hours=1)
    )
    increment_board_version(phase.pk)
    page = text_of(client.get(reverse("board", args=place(phase))))
    assert "a run that knows nothing" in page
