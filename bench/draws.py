"""The attack on the draw of a public part: what its composition tells of private answers, without any score.

Each task's first dimension is its gold, or follows from it. The attacker knows all texts, which units are
public and their answers, as `docs/organisers.md` grants, and everything about the draw: of a draw of an
earlier release its seed, of a draw of today even its secret. An integer program looks for private answers
under which the draw would have come to the same public part. It is played against what somebody gets who
gives all private instances the answer that most of them have.
"""

import hashlib
import hmac
import json
import tempfile
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import measuring
import numpy as np
from scipy.optimize import LinearConstraint, milp
from scipy.sparse import coo_array
from scipy.stats import t

from scoring.offline.parts import draw_units_by_nonce, draw_units_by_seed
from scoring.offline.scoring import read_split
from tasks.types import Pairs, TaskType
from tasks.types.declared.folder import read_folder

#: So much better than the best constant guess the program may be, in percentage points.
ALLOWED = 5.0
SHARES = (30, 50)
#: Which of the solutions is found is left to chance so often; what most of them say is the guess.
SOLUTIONS = 8
SECONDS = 5.0
KINDS = ("fabricated", "future_date", "merged", "plausible", "wrong_venue")


@dataclass(frozen=True)
class DrawTask:
    """``rows`` makes instances of classes; ``answer_of`` returns the answer that a class stands for."""

    name: str
    folder: str
    classes: tuple[str, ...]
    rows: Callable[[Sequence[str]], Iterator[dict[str, Any]]]
    weights: tuple[float, ...]
    answer_of: Callable[[str], str] = str


def _intents(classes: Sequence[str]) -> Iterator[dict[str, Any]]:
    for number, label in enumerate(classes):
        yield {"id": f"i{number}", "text": f"text {number}", "label": label}


def _scores(classes: Sequence[str]) -> Iterator[dict[str, Any]]:
    score_of = {"under 2": 1.0, "2 to under 4": 3.0, "4 or more": 5.0}
    for number, own in enumerate(classes):
        texts = {"first": f"a {number}", "second": f"b {number}"}
        yield {"id": f"i{number}", **texts, "score": score_of[own]}


def _references(classes: Sequence[str]) -> Iterator[dict[str, Any]]:
    for number, own in enumerate(classes):
        is_valid = own == "valid"
        kind = {} if is_valid else {"hallucination_type": own}
        yield {
            "bibtex_key": f"r{number}",
            "bibtex_type": "article",
            "fields": {"title": f"Title {number}", "year": "2024"},
            "label": "VALID" if is_valid else "HALLUCINATED",
            "difficulty_tier": 1,
            **kind,
        }


TASKS = (
    DrawTask("2 labels, even", "citation-intent-acl", ("Background", "Uses"), _intents, (1, 1)),
    DrawTask(
        "valid + 5 kinds", "reference-verification", ("valid", *KINDS), _references, (5, 1, 1, 1, 1, 1),
        lambda own: "valid" if own == "valid" else "not",
    ),
    DrawTask("3 labels, even", "citation-intent-acl", ("Background", "Extends", "Uses"), _intents, (1, 1, 1)),
    DrawTask(
        "3 scores, even", "text-similarity", ("under 2", "2 to under 4", "4 or more"), _scores, (1, 1, 1),
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Drawn:
    """A public part of units with these classes, and the order within a class that the draw goes by."""

    units: Sequence[str]
    classes: Sequence[str]
    public: frozenset[str]
    order: dict[str, bytes]
    share: int


def whole_of(task: DrawTask, kind: TaskType, classes: Sequence[str]) -> Pairs:
    with tempfile.TemporaryDirectory(prefix="draws-") as folder:
        path = Path(folder) / "gold.jsonl"
        path.write_text("\n".join(map(json.dumps, task.rows(classes))))
        split = read_split(kind, [path], {})
    run, _problems = kind.read_run([], split.index, {})
    return kind.pairs_of(split, run, kind.default_rule_set, {})


def by_seed(
    kind: TaskType,
    pairs: Pairs,
    classes: Sequence[str],
    share: int,
    rng: np.random.Generator,
) -> Drawn:
    """As earlier releases drew it."""
    seed = int(rng.integers(1, 2**31))
    units = list(map(str, pairs.units))
    order = {unit: hashlib.sha256(f"{seed}:{unit}".encode()).digest() for unit in units}
    public = frozenset(draw_units_by_seed(kind, pairs, share, seed))
    return Drawn(units, classes, public, order, share)


def by_secret(
    kind: TaskType,
    pairs: Pairs,
    classes: Sequence[str],
    share: int,
    rng: np.random.Generator,
) -> Drawn:
    nonce = rng.bytes(32)
    units = list(map(str, pairs.units))
    order = {unit: hmac.digest(nonce, unit.encode(), "sha256") for unit in units}
    public = frozenset(draw_units_by_nonce(kind, pairs, share, nonce.hex()))
    return Drawn(units, classes, public, order, share)


class Program(NamedTuple):
    """The variables say whether a private unit is of a class, class after class; then those that a gap
    has too few or too many.
    """

    constraints: list[LinearConstraint]
    variables: int
    slack: int


def program_of(drawn: Drawn, private: Sequence[str], names: Sequence[str]) -> Program:
    """Between two public units in the order of the draw stand as many private ones as the steps say."""
    class_of = dict(zip(drawn.units, drawn.classes, strict=True))
    edges = sorted(
        (names.index(class_of[unit]), drawn.order[unit]) for unit in drawn.public
    )
    steps = (50 + np.arange(len(drawn.units) + 1) * drawn.share) // 100
    places = np.flatnonzero(np.diff(steps))
    gaps = np.diff([-1, *places, len(drawn.units)]) - 1
    cells = [(own, drawn.order[unit]) for own in range(len(names)) for unit in private]
    count, slack = len(cells), len(gaps)
    ones, spare = np.ones(count), np.arange(slack)
    rows = [np.array([bisect(edges, cell) for cell in cells]), spare, spare]
    columns = [np.arange(count), count + spare, count + slack + spare]
    signs = [ones, np.ones(slack), -np.ones(slack)]
    width = count + 2 * slack
    of_gaps = coo_array(
        (np.concatenate(signs), (np.concatenate(rows), np.concatenate(columns))),
        shape=(slack, width),
    )
    units = np.tile(np.arange(len(private)), len(names))
    of_units = coo_array((ones, (units, np.arange(count))), shape=(len(private), width))
    constraints = [
        LinearConstraint(of_gaps.tocsr(), gaps, gaps),
        LinearConstraint(of_units.tocsr(), 1, 1),
    ]
    return Program(constraints, count, slack)


def guessed(task: DrawTask, drawn: Drawn, rng: np.random.Generator) -> dict[str, str]:
    """The class of each private unit that most of the found solutions give it."""
    names = sorted(task.classes)
    private = [unit for unit in drawn.units if unit not in drawn.public]
    program = program_of(drawn, private, names)
    votes = np.zeros((len(private), len(names)))
    for _ in range(SOLUTIONS):
        wish = [rng.random(program.variables), np.full(2 * program.slack, 100.0)]
        found = milp(
            np.concatenate(wish),
            constraints=program.constraints,
            integrality=[1] * program.variables + [0] * (2 * program.slack),
            bounds=(0, np.inf),
            options={"time_limit": SECONDS, "mip_rel_gap": 0.05},
        )
        if found.x is not None:
            chosen = found.x[: program.variables]
            votes += chosen.reshape(len(names), len(private)).T
    best = votes.argmax(axis=1)
    return {unit: names[own] for unit, own in zip(private, best, strict=True)}


def play_draws(n: int, draws: int) -> bool:
    """Print the table; return whether the draw of today resists."""
    resists = True
    print(
        f"{n} instances, {draws} draws; right of 100 private answers, gain over the best constant guess\n"
        f"{'task':<17} {'share':>5}  {'draw':<20} {'program':>7} {'constant':>8} {'gain':>6} {'upper end':>9}"
    )
    for task in TASKS:
        kind = read_folder(measuring.ROOT / "examples" / "tasks" / task.folder)
        for share in SHARES:
            for name, draw in (("by gold and seed", by_seed), ("by secret", by_secret)):
                rng = np.random.default_rng(share)
                played = [
                    _played(task, kind, n, share, draw, rng) for _ in range(draws)
                ]
                program, constant = np.array(played).T
                gain = program - constant
                error = gain.std(ddof=1) / np.sqrt(draws)
                upper = gain.mean() + t.ppf(0.975, draws - 1) * error
                print(
                    f"{task.name:<17} {share:>4}%  {name:<20} {program.mean():>7.1f} {constant.mean():>8.1f} "
                    f"{gain.mean():>+6.1f} {upper:>+9.1f}",
                    flush=True,
                )
                resists = resists and (draw is by_seed or upper <= ALLOWED)
    return resists


def _played(
    task: DrawTask,
    kind: TaskType,
    n: int,
    share: int,
    draw: Callable[..., Drawn],
    rng: np.random.Generator,
) -> tuple[float, float]:
    """The shares of private answers that the program and the best constant guess have right, per cent."""
    weights = np.array(task.weights) / sum(task.weights)
    classes = [str(own) for own in rng.choice(task.classes, n, p=weights)]
    drawn = draw(kind, whole_of(task, kind, classes), classes, share, rng)
    class_of = dict(zip(drawn.units, classes, strict=True))
    found = guessed(task, drawn, rng)
    right = [
        task.answer_of(own) == task.answer_of(class_of[unit])
        for unit, own in found.items()
    ]
    answers = Counter(task.answer_of(class_of[unit]) for unit in found)
    return 100 * float(np.mean(right)), 100 * max(answers.values()) / len(found)
