"""The draw of the public part: by a secret and by what is shown, so that it says nothing of answers."""

import json
import random
from pathlib import Path

import pytest

from scoring.offline.parts import (
    SplitPart,
    draw_units_by_nonce,
    draw_units_by_seed,
    parse_part,
    parse_part_with_nonce,
)
from scoring.offline.scoring import read_split
from tasks.types import OptionRefused, Pairs, TaskType, task_type
from tasks.types.digests import compute_draw_commitment
from tests.scoring.offline import refusals
from tests.tasks.test_every_type import TYPES, sample, scored

NONCE, OTHER = "5f" * 32, "a0" * 32
TASKS = Path(__file__).resolve().parents[2] / "examples" / "tasks"


def whole(kind: TaskType, gold: Path) -> Pairs:
    """All units of the gold, beside a run without answers."""
    split = read_split(kind, [gold], {})
    run, _problems = kind.read_run([], split.index, {})
    return kind.pairs_of(split, run, kind.default_rule_set, {})


def with_swapped_answers(kind: TaskType, gold: Path, folder: Path) -> Path:
    """The same instances; the answers, and all else that nobody is shown, stand at other ones."""
    rows = [json.loads(line) for line in gold.read_text().splitlines()]
    task = kind.read_gold.__self__
    shown = [
        {key: row[key] for key in (task.id, *task.shown) if key in row} for row in rows
    ]
    secrets = [
        {key: value for key, value in row.items() if key not in own}
        for row, own in zip(rows, shown, strict=True)
    ]
    random.Random(3).shuffle(secrets)
    lines = [
        json.dumps({**own, **secret})
        for own, secret in zip(shown, secrets, strict=True)
    ]
    path = folder / gold.name
    path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize("name", ["reference-verification", "text-similarity"])
def test_the_draw_is_the_same_whatever_the_answers_are(name, tmp_path):
    kind = task_type(str(TASKS / name))
    gold = TASKS.parent / "field-tasks" / name / "gold" / "gold.jsonl"
    world = whole(kind, gold)
    other = whole(kind, with_swapped_answers(kind, gold, tmp_path))
    assert draw_units_by_seed(kind, world, 30, 7) != draw_units_by_seed(
        kind, other, 30, 7
    ), "a draw of an earlier release reveals answers"
    for share in (10, 30, 50):
        drawn = draw_units_by_nonce(kind, world, share, NONCE)
        assert drawn == draw_units_by_nonce(kind, other, share, NONCE)
        assert abs(len(drawn) - len(world.units) * share / 100) <= 0.5


@pytest.mark.parametrize("kind", TYPES, ids=[kind.slug for kind in TYPES])
def test_dimensions_that_are_shown_are_some_of_a_type_s_and_none_of_its_labels(kind):
    assert set(kind.shown_dimensions) <= set(kind.dimensions)
    assert not set(kind.shown_dimensions) & set(kind.label_dimensions)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("citation-intent-acl", ("length",)),
        ("reference-verification", ()),
        ("text-similarity", ()),
        ("citation-spans", ()),
    ],
)
def test_dimensions_of_declared_tasks_are_shown_where_their_fields_are(name, shown):
    kind = task_type(str(TASKS / name))
    assert set(shown) <= set(kind.shown_dimensions)
    assert kind.dimensions[0] not in kind.shown_dimensions or name.endswith("acl")


def units(classes) -> Pairs:
    names = [f"p{number}" for number in range(len(classes))]
    features = {"section": [(label,) for label in classes]}
    return Pairs(gold=names, answers=names, units=names, features=features)


def test_every_shown_class_has_its_share_in_the_public_part():
    kind = task_type("citation-resolution")
    classes = ["rare" if number < 20 else "frequent" for number in range(200)]
    drawn = draw_units_by_nonce(kind, units(classes), 30, NONCE)
    assert len(drawn) == 60
    assert sum(classes[int(unit[1:])] == "rare" for unit in drawn) == 6


def test_the_draw_is_the_same_again_and_another_by_another_nonce():
    kind, pairs = task_type("citation-resolution"), units(["one"] * 50)
    assert draw_units_by_nonce(kind, pairs, 30, NONCE) == draw_units_by_nonce(
        kind, pairs, 30, NONCE
    )
    assert draw_units_by_nonce(kind, pairs, 30, NONCE) != draw_units_by_nonce(
        kind, pairs, 30, OTHER
    )


def test_a_part_is_named_by_the_commitment_and_never_by_the_nonce(capsys):
    kind = task_type("citation-resolution")
    result = scored(capsys, kind, f"--part=public-50-{NONCE}")
    part = f"public-50-c{compute_draw_commitment(NONCE)[:12]}"
    assert result["part"] == part == str(SplitPart("public", 50, nonce=NONCE))
    assert NONCE not in json.dumps(result)
    for metric in result["metrics"].values():
        assert f"|part:{part}|" in metric["column"]


def test_both_parts_are_all_of_the_split(capsys):
    kind = task_type("citation-resolution")
    everything = scored(capsys, kind)
    parts = [
        scored(capsys, kind, f"--part={name}-50-{NONCE}")
        for name in ("public", "private")
    ]
    for name, metric in everything["metrics"].items():
        assert sum(part["metrics"][name]["n"] for part in parts) == metric["n"], name


def test_the_commitment_alone_draws_no_part(capsys):
    gold, run, _scores = sample(task_type("citation-resolution"))
    part = str(SplitPart("public", 50, nonce=NONCE))
    [line] = refusals(capsys, "citation-resolution", gold, run, f"--part={part}")
    assert "write its nonce in the place of its commitment: public-50-NONCE" in line


def test_a_part_is_opened_by_its_nonce_and_by_no_other():
    part = SplitPart("private", 30, nonce=NONCE)
    assert parse_part_with_nonce(str(part), NONCE) == part
    assert parse_part_with_nonce("private-30-7", "") == parse_part("private-30-7")
    for nonce in (OTHER, ""):
        with pytest.raises(OptionRefused):
            parse_part_with_nonce(str(part), nonce)
