"""The attack by random answers: how many secret answers a team can compute from its own scores.

For every task type a test set is written whose gold is drawn from candidates that the attacker knows, as from
the labels, the reference list or the sentences of a paper. The attacker sends made-up answers, has them
scored by the offline scorer as the site would show them under each preset, and solves what the scores say by
an integer program. It knows which instances share a class and which are in the public part. `--full` plays
a year of tries, `--presets` only what a year of ranks by the private part tells. `--draws` plays what the
draw of a public part tells by itself, where the first dimension is gold. `--honest` says instead how often a
public part or the Ladder puts two honest teams into another order than all of the gold.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import django
import measuring
import numpy as np
from draws import play_draws
from scipy.optimize import LinearConstraint, milp
from scipy.sparse import csr_array

from scoring.metrics.base import MeanMetric
from scoring.offline.parts import SplitPart, draw_units_by_nonce
from scoring.offline.scoring import ScoringRequest, read_split, score
from scoring.stats.leakage import (
    compute_ladder_step,
    compute_rank_publications_per_year,
    round_score_by_ladder,
)
from tasks.types import TaskType, task_type
from tasks.types.base import CORRECTED
from tasks.types.declared.folder import read_folder

#: Uploads after which the attacker computes; a year of the preset's tries with --full.
QUICK, FULL = (2, 5, 10, 15, 20, 40), (5, 10, 15, 20, 40, 365, 1095, 1825)
#: More lists than so many tell an integer program nothing new.
MAX_LISTS = 60
#: What is left to chance is played so often.
REPEATS = 200
#: So often the time of a scoring is taken.
TIMED = 50
SMALLEST_CLASS = 5
SECONDS = 8.0
#: So much of the private part may be found out over chance, per cent.
ALLOWED = 5.0
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, kw_only=True)
class Target:
    """A test set of a task type: ``write`` makes the gold of choices, ``run`` the file of answers."""

    name: str
    kind: TaskType
    n: int
    k: int
    write: Callable[[Path, Sequence[int]], list[Path]]
    run: Callable[[Sequence[int]], Iterator[Mapping[str, object]]]
    groups: Sequence[str]
    dimension: str
    metric: str
    options: Mapping[str, str] = field(default_factory=dict)
    unit_of: Callable[[int], str] = str


def write_lines(
    path: Path, lines: Iterator[Mapping[str, object]] | Sequence[Mapping[str, object]]
) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def word(number: int) -> str:
    """A word of letters for each number, none like another."""
    text = ""
    for _ in range(4):
        number, place = divmod(number, len(LETTERS))
        text += LETTERS[place]
    return text


CLASSES = 6


def labels(n: int) -> Target:
    """The declared task among the examples."""
    names = ("background", "method", "result")

    def write(folder: Path, gold: Sequence[int]) -> list[Path]:
        rows = [
            {
                "id": f"i{row}",
                "text": f"text {row}",
                "section": f"s{row % CLASSES}",
                "label": names[choice],
            }
            for row, choice in enumerate(gold)
        ]
        return [write_lines(folder / "gold.jsonl", rows)]

    return Target(
        name="labels", kind=read_folder(measuring.ROOT / "examples" / "tasks" / "citation-intent"), n=n,
        k=len(names), write=write, metric="accuracy", dimension="section",
        run=lambda chosen: ({"id": f"i{row}", "label": names[one]} for row, one in enumerate(chosen)),
        groups=[f"s{row % CLASSES}" for row in range(n)], unit_of=lambda row: f"i{row}",
    )  # fmt: skip


def recommendation(n: int) -> Target:
    papers, k = max(10, n // 6), 12

    def write(folder: Path, gold: Sequence[int]) -> list[Path]:
        refs = [
            {
                "paper_id": "p0",
                "ref_id": f"r{one}",
                "raw": f"A. Name, 2001. {word(one)}.",
            }
            for one in range(k)
        ]
        rows = [
            {"id": f"c{row}", "citing_id": f"p{row % papers}", "cited_id": f"r{choice}",
             "sentence": f"Sentence {row}<REF>.", "field": f"f{row % papers % CLASSES}"}
            for row, choice in enumerate(gold)
        ]  # fmt: skip
        write_lines(folder / "references.jsonl", refs)
        write_lines(folder / "diagnostic.jsonl", rows)
        return [folder]

    return Target(
        name="recommendation", kind=task_type("citation-recommendation"), n=n, k=k, write=write,
        run=lambda chosen: ({"id": f"c{row}", "ranked": [f"r{one}"]} for row, one in enumerate(chosen)),
        groups=[f"f{row % papers % CLASSES}" for row in range(n)], dimension="field", metric="recall@10",
        unit_of=lambda row: f"p{row % papers}",
    )  # fmt: skip


def resolution(n: int) -> Target:
    papers, k = max(10, n // 6), 12

    def write(folder: Path, gold: Sequence[int]) -> list[Path]:
        refs = [
            {"paper_id": f"p{paper}", "ref_id": f"p{paper}r{one}", "raw": f"A. {word(100 * paper + one)}."}
            for paper in range(papers) for one in range(k)
        ]  # fmt: skip
        rows = [
            {"context_id": f"c{row}", "paper_id": f"p{row % papers}", "section": f"s{row % CLASSES}",
             "sentence": f"Sentence {row}<REF>.", "gold": [f"p{row % papers}r{choice}"], "n_markers": 1}
            for row, choice in enumerate(gold)
        ]  # fmt: skip
        about = [
            {
                "paper_id": f"p{one}",
                "title": word(one),
                "discipline": f"d{one % CLASSES}",
                "year": 2001,
            }
            for one in range(papers)
        ]
        write_lines(folder / "references.jsonl", refs)
        write_lines(folder / "contexts.jsonl", rows)
        write_lines(folder / "papers.jsonl", about)
        return [folder]

    return Target(
        name="resolution", kind=task_type("citation-resolution"), n=n, k=k, write=write,
        run=lambda chosen: (
            {"id": f"c{row}", "ranked": [f"p{row % papers}r{one}"]} for row, one in enumerate(chosen)
        ),
        groups=[f"d{row % papers % CLASSES}" for row in range(n)], dimension="discipline", metric="success@n",
        unit_of=lambda row: f"p{row % papers}",
    )  # fmt: skip


FACETS = ("Aim", "Method", "Results", "Implication", "Hypothesis")


def clsumm(n: int, task: str) -> Target:
    """1A: which of six sentences a citance is about; 1B: which facet it has, the sentences being known."""
    topics, k = max(10, n // 8), 6 if task == "1a" else len(FACETS)

    def place(row: int) -> tuple[str, str]:
        return f"T{row % topics:02}-1001", str(row // topics + 1)

    def write(folder: Path, gold: Sequence[int]) -> list[Path]:
        for number in range(topics):
            topic = f"T{number:02}-1001"
            (folder / topic / "annotation").mkdir(parents=True)
            (folder / topic / "Reference_XML").mkdir()
            body = "".join(
                f'<S sid="{sid}" ssid="{sid}">{word(sid)}</S>\n' for sid in range(8)
            )
            (folder / topic / "Reference_XML" / f"{topic}.xml").write_text(
                f"<PAPER>\n{body}</PAPER>\n"
            )
            lines = []
            for row in range(number, n, topics):
                sid = gold[row] + 1 if task == "1a" else 1
                facet = FACETS[gold[row]] if task == "1b" else "Method"
                lines.append(
                    f"Citance Number: {len(lines) + 1} | Reference Article: {topic}.xml | "
                    f"Citing Article: C{row:04}.xml | Citation Marker Offset: ['{place(row)[1]}'] | "
                    f"Citation Marker: (Us, 2001) | Citation Offset: ['{place(row)[1]}'] | "
                    f"Citation Text: <S sid=\"{place(row)[1]}\">They.</S> | Reference Offset: ['{sid}'] | "
                    f'Reference Text: <S sid="{sid}">{word(sid)}</S> | Discourse Facet: {facet}_Citation | '
                    "Annotator: us |\n"
                )
            (folder / topic / "annotation" / f"{topic}.annv3.txt").write_text(
                "\n".join(lines)
            )
        return [folder]

    def run(chosen: Sequence[int]) -> Iterator[Mapping[str, object]]:
        for row, one in enumerate(chosen):
            topic, marker = place(row)
            answer = (
                {"sentences": [str(one + 1)]}
                if task == "1a"
                else {"sentences": ["1"], "facets": [FACETS[one]]}
            )
            yield {"topic": topic, "citing": f"C{row:04}", "marker": marker, **answer}

    return Target(
        name=task.upper(), kind=task_type(f"clsumm-{task}"), n=n, k=k, write=write, run=run,
        groups=[place(row)[0] for row in range(n)], dimension="topic", unit_of=lambda row: place(row)[0],
        metric="overlap_f1_micro" if task == "1a" else "facet_f1_micro",
    )  # fmt: skip


def summaries(n: int) -> Target:
    """Which of four texts a topic's summary is."""
    n, k = max(20, n // 4), 4

    def text(row: int, one: int) -> str:
        return " ".join(word(1000 * row + 10 * one + place) for place in range(4)) + "."

    def write(folder: Path, gold: Sequence[int]) -> list[Path]:
        for row, choice in enumerate(gold):
            topic = f"T{row:02}-1001"
            (folder / topic / "Reference_XML").mkdir(parents=True)
            (folder / topic / "summary").mkdir()
            (folder / topic / "Reference_XML" / f"{topic}.xml").write_text(
                '<PAPER>\n<S sid="0" ssid="0">A</S>\n</PAPER>\n'
            )
            (folder / topic / "summary" / f"{topic}.human.txt").write_text(
                text(row, choice)
            )
        return [folder]

    return Target(
        name="summaries", kind=task_type("clsumm-2"), n=n, k=k, write=write, groups=["all"] * n, dimension="",
        run=lambda chosen: (
            {"topic": f"T{row:02}-1001", "summary": text(row, one)} for row, one in enumerate(chosen)
        ),
        metric="rouge_2_f1", unit_of=lambda row: f"T{row:02}-1001",
    )  # fmt: skip


def texts(n: int) -> Target:
    """Which of four sentences a citing sentence is."""
    k, sets = 4, 2

    def text(row: int, one: int) -> str:
        return " ".join(word(1000 * row + 10 * one + place) for place in range(5)) + "."

    def name(row: int) -> str:
        return f"set{row % sets}-{row:04}"

    def write(folder: Path, gold: Sequence[int]) -> list[Path]:
        for one in range(sets):
            rows = [
                {
                    "id": name(row),
                    "input": [f"Paper {row}."],
                    "target": text(row, gold[row]),
                }
                for row in range(one, len(gold), sets)
            ]
            write_lines(folder / f"set{one}.jsonl", rows)
        return [folder]

    return Target(
        name="citation texts", kind=task_type("citation-text"), n=n, k=k, write=write,
        run=lambda chosen: (
            {"id": name(row), "prediction": text(row, one)} for row, one in enumerate(chosen)
        ),
        groups=[f"set{row % sets}" for row in range(n)], dimension="dataset", metric="rouge_l_f1",
        unit_of=name,
    )  # fmt: skip


def positional(n: int) -> Target:
    """Which of four short answers a question has."""
    k = 4

    def short(row: int, one: int) -> str:
        return word(1000 * row + one)

    def write(folder: Path, gold: Sequence[int]) -> list[Path]:
        rows = [
            {"id": f"q{row}", "dataset": f"d{row % 3}", "question": "Which?", "answer": "",
             "docs": [{"title": "A", "text": "B."}], "qa_pairs": [{"short_answers": [short(row, choice)]}]}
            for row, choice in enumerate(gold)
        ]  # fmt: skip
        (folder / "gold.json").write_text(json.dumps(rows))
        answers = (short(row, one) for row in range(len(gold)) for one in range(k))
        write_lines(
            folder / "parses.jsonl",
            [
                {"text": text, "tokens": [text], "heads": [0], "relations": ["ROOT"]}
                for text in answers
            ],
        )
        return [folder / "gold.json"]

    return Target(
        name="positional", kind=task_type("positional-citations"), n=n, k=k, write=write, metric="em_recall",
        run=lambda chosen: ({"id": f"q{row}", "output": short(row, one)} for row, one in enumerate(chosen)),
        groups=[f"d{row % 3}" for row in range(n)], dimension="dataset", unit_of=lambda row: f"q{row}",
        options={"entailment": "word-overlap", "parser": "{gold}/parses.jsonl"},
    )  # fmt: skip


def targets(n: int) -> list[Target]:
    return [
        recommendation(n), resolution(n), clsumm(n, "1a"), clsumm(n, "1b"), labels(n), texts(n), summaries(n),
        positional(n),
    ]  # fmt: skip


@dataclass
class Attacked:
    """A target with its gold drawn, and the scores that a site would show of made-up answers."""

    target: Target
    gold: np.ndarray
    public: np.ndarray
    score: Callable[[np.ndarray, SplitPart | None], Mapping[str, object]]

    @property
    def groups(self) -> list[np.ndarray]:
        """The rows of which a number is shown: all of them, and each class that is not too small."""
        names = np.array(self.target.groups)
        classes = [np.flatnonzero(names == name) for name in sorted(set(names))]
        shown = [rows for rows in classes if len(rows) >= SMALLEST_CLASS]
        return [
            np.arange(self.target.n),
            *(shown if len(classes) > 1 and self.target.dimension else []),
        ]


PART = SplitPart("public", 30, nonce="5f" * 32)


def attacked(target: Target, folder: Path, rng: np.random.Generator) -> Attacked:
    gold = rng.integers(0, target.k, target.n)
    (folder / "gold").mkdir()
    paths = target.write(folder / "gold", gold.tolist())
    kind = target.kind
    given = {
        name: text.replace("{gold}", str(folder / "gold"))
        for name, text in target.options.items()
    }
    options = kind.validate_options(given)
    scoring = partial(
        ScoringRequest,
        task_type=kind,
        gold=paths,
        rules=kind.default_rule_set,
        options=options,
        resamples=0,
    )

    def scored(answers: np.ndarray, part: SplitPart | None) -> Mapping[str, object]:
        run = write_lines(folder / "run.jsonl", target.run(answers.tolist()))
        return score(scoring(run=run, part=part))

    run = write_lines(folder / "run.jsonl", target.run(gold.tolist()))
    split = read_split(kind, paths, options)
    from tasks.types.files import open_input_files
    from tasks.types.runs import read_run

    answers, _ = read_run(kind, open_input_files(run), split.index, options, name="run")
    drawn = draw_units_by_nonce(
        kind,
        kind.pairs_of(split, answers, kind.default_rule_set, options),
        PART.share,
        PART.nonce,
    )
    public = np.array([target.unit_of(row) in drawn for row in range(target.n)])
    victim = Attacked(target, gold, public, scored)
    check(victim, rng)
    return victim


def check(victim: Attacked, rng: np.random.Generator) -> None:
    """That what is played below in numbers is what the scorer prints."""
    target = victim.target
    answers = rng.integers(0, target.k, target.n)
    hits = answers == victim.gold
    for part, rows in ((None, slice(None)), (PART, victim.public)):
        printed = victim.score(answers, part)["metrics"][target.metric]
        share = printed["value"] / printed["scale"]
        assert np.isclose(share, hits[rows].mean()), (
            target.name,
            part,
            share,
            hits[rows].mean(),
        )


def solved(
    victim: Attacked,
    asked: np.ndarray,
    rows: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Answers that agree with what was told. Each line of ``asked`` are answers, of ``rows`` which of them
    count, and between ``low`` and ``high`` of these are right.
    """
    n, k = victim.target.n, victim.target.k
    lines, places = np.nonzero(rows)
    told = csr_array(
        (np.ones(len(lines)), (lines, places * k + asked[lines, places])),
        shape=(len(rows), n * k),
    )
    one_each = csr_array(
        (np.ones(n * k), (np.repeat(np.arange(n), k), np.arange(n * k))),
        shape=(n, n * k),
    )
    # Which of the solutions is left to chance.
    wish = rng.random(n * k)
    found = milp(
        wish,
        constraints=[
            LinearConstraint(told, low - 1e-6, high + 1e-6),
            LinearConstraint(one_each, 1, 1),
        ],
        integrality=np.ones(n * k),
        bounds=(0, 1),
        options={"time_limit": SECONDS, "mip_rel_gap": 1.0},
    )
    best = found.x if found.x is not None else wish
    return best.reshape(n, k).argmax(axis=1)


def by_scores(
    victim: Attacked,
    uploads: int,
    rng: np.random.Generator,
    within: np.ndarray,
    digits: int = 16,
) -> np.ndarray:
    """Random answers, and the program that solves what all numbers of them say of these rows."""
    target = victim.target
    lists = rng.integers(0, target.k, (uploads, target.n))
    asked, rows, low, high = [], [], [], []
    for answers in lists:
        for group in victim.groups:
            mask = np.zeros(target.n, dtype=bool)
            mask[group] = True
            mask &= within
            if mask.sum() == 0:
                continue
            share = round(float((answers == victim.gold)[mask].mean()), digits)
            slack = 0.5 * 10.0**-digits * mask.sum()
            asked.append(answers)
            rows.append(mask)
            low.append(share * mask.sum() - slack)
            high.append(share * mask.sum() + slack)
    return solved(
        victim, np.array(asked), np.array(rows), np.array(low), np.array(high), rng
    )


def by_ranks(victim: Attacked, times: int, rng: np.random.Generator) -> np.ndarray:
    """What so many ranks say of the private part, where so many others are ranked that each says how many
    answers are right there: random answers, each weighed by how many more are right than by chance.
    """
    target, private = victim.target, ~victim.public
    places, votes = np.arange(target.n), 1e-6 * rng.random((target.n, target.k))
    for _ in range(times):
        answers = rng.integers(0, target.k, target.n)
        votes[places, answers] += (answers == victim.gold)[
            private
        ].sum() - private.sum() / target.k
    return votes.argmax(axis=1)


class Share(MeanMetric):
    """A share of units that are right, for its standard error."""

    columns = ("right",)

    def instance_stats(
        self, gold: Sequence[object], answers: Sequence[object]
    ) -> np.ndarray:
        right = [one == other for one, other in zip(gold, answers, strict=True)]
        return np.column_stack([right, np.ones(len(right))]).astype(float)


SHARE = Share("share", CORRECTED, column="right")


def by_ladder(victim: Attacked, uploads: int, rng: np.random.Generator) -> np.ndarray:
    """Change some answers of the best run at random, and keep them where a new number is told."""
    target = victim.target
    best_answers, told = rng.integers(0, target.k, target.n), None
    for _ in range(uploads):
        answers = best_answers.copy()
        if told is not None:
            size = int(rng.integers(2, max(3, target.n // 3)))
            answers[rng.choice(target.n, size, replace=False)] = rng.integers(
                0, target.k, size
            )
        hits = (answers == victim.gold).astype(float)
        units: dict[str, list[float]] = {}
        for row, hit in enumerate(hits):
            units.setdefault(target.unit_of(row), []).append(hit)
        sums = np.array([[sum(own), len(own)] for own in units.values()])
        new = round_score_by_ladder(
            float(hits.mean()), compute_ladder_step(SHARE, sums), told
        )
        if new is not None:
            best_answers, told = answers, new
    return best_answers


def over_chance(victim: Attacked, found: np.ndarray, rows: np.ndarray) -> float:
    """The share that was found of these rows, above that of a guess without scores, per cent."""
    return 100 * float((found == victim.gold)[rows].mean() - 1 / victim.target.k)


def play(n: int, uploads: Sequence[int]) -> None:
    head = " ".join(f"{count:>6}" for count in uploads)
    print(f"{n} instances; of 100 answers, after so many uploads          {head}")
    for target in targets(n):
        rng = np.random.default_rng(0)
        with tempfile.TemporaryDirectory(prefix="leak-") as folder:
            play_at(attacked(target, Path(folder), rng), uploads, rng)


def play_at(victim: Attacked, uploads: Sequence[int], rng: np.random.Generator) -> None:
    everything = np.ones(victim.target.n, dtype=bool)

    def own_scores(lists: int, within: np.ndarray, digits: int = 16) -> float:
        return recovered(victim, by_scores(victim, lists, rng, within, digits), within)

    for way, found in (
        ("own scores and classes: recovered", partial(own_scores, within=everything)),
        (
            "the same with four digits: recovered",
            partial(own_scores, within=everything, digits=4),
        ),
        ("public part: recovered of it", partial(own_scores, within=victim.public)),
    ):
        known = {
            lists: found(lists)
            for lists in sorted({min(count, MAX_LISTS) for count in uploads})
        }
        tell(victim, way, [known[min(count, MAX_LISTS)] for count in uploads])
    climbed = [
        repeated(partial(by_ladder, victim, count, rng), victim, everything, 20)
        for count in uploads
    ]
    tell(victim, "Ladder on all of it: over chance", climbed)


def play_presets(n: int, is_full: bool) -> bool:
    """A year of each phase without an end that has a public part; whether the rest resists."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "citeboard.settings")
    django.setup()
    from tasks.seasons.presets import PRESETS_BY_SLUG

    resists = True
    print(f"{n} instances; of 100 answers, after a year of tries")
    for target in targets(n):
        rng = np.random.default_rng(0)
        with tempfile.TemporaryDirectory(prefix="leak-") as folder:
            victim = attacked(target, Path(folder), rng)
        private = ~victim.public
        for preset in PRESETS_BY_SLUG.values():
            for phase in preset.phases:
                if phase.closes or "public_part" not in phase.settings:
                    continue
                assert phase.settings["public_part"] == PART.share
                times = compute_rank_publications_per_year(int(private.sum()))
                known = repeated(partial(by_ranks, victim, times, rng), victim, private)
                resists = resists and known <= ALLOWED
                told = f"private part over chance {known:.1f}, by {times} ranks of {private.sum()} instances"
                if is_full:
                    lists = min(365 * phase.settings["runs_per_day"], MAX_LISTS)
                    public = recovered(
                        victim,
                        by_scores(victim, lists, rng, victim.public),
                        victim.public,
                    )
                    told += f"; public part recovered {public:.1f}"
                    for other in preset.phases:
                        if (
                            other.closes
                            and other.settings["split"] == phase.settings["split"]
                        ):
                            tries = other.settings["runs_in_total"]
                            found = by_scores(
                                victim, tries, rng, np.ones(target.n, dtype=bool)
                            )
                            before = over_chance(victim, found, private)
                            told += f"; {tries} runs of {other.title} over chance {before:.1f}"
                print(f"  {target.name:<15} {preset.title!s:<17} {told}", flush=True)
    return resists


def repeated(
    attack: Callable[[], np.ndarray],
    victim: Attacked,
    rows: np.ndarray,
    times: int = REPEATS,
) -> float:
    return sum(over_chance(victim, attack(), rows) for _ in range(times)) / times


def recovered(victim: Attacked, found: np.ndarray, rows: np.ndarray) -> float:
    return 100 * float((found == victim.gold)[rows].mean())


def tell(victim: Attacked, way: str, shares: Sequence[float]) -> None:
    print(
        f"  {victim.target.name:<15} {way:<43} "
        + " ".join(f"{share:>6.1f}" for share in shares),
        flush=True,
    )


def honest(draws: int) -> None:
    """How often two honest teams stand otherwise than by all of the gold."""
    rng = np.random.default_rng(0)
    print(
        "instances  apart  public part  private part  Ladder: no order  Ladder: other order"
    )
    for n in (100, 400, 1600):
        for apart in (0.01, 0.03, 0.10):
            other, otherwise, none, turned = 0, 0, 0, 0
            for _ in range(draws):
                ease = rng.beta(2, 2, n)
                first, second = (
                    rng.random(n) < np.clip(ease + shift, 0, 1)
                    for shift in (apart / 2, -apart / 2)
                )
                full = np.sign(first.mean() - second.mean())
                public = np.zeros(n, dtype=bool)
                public[rng.choice(n, 3 * n // 10, replace=False)] = True
                other += np.sign(first[public].mean() - second[public].mean()) not in (
                    full,
                    0,
                )
                otherwise += np.sign(
                    first[~public].mean() - second[~public].mean()
                ) not in (full, 0)
                told = [
                    round_score_by_ladder(
                        float(own.mean()),
                        compute_ladder_step(
                            SHARE, np.column_stack([own, np.ones(n)]).astype(float)
                        ),
                        None,
                    )
                    for own in (first, second)
                ]
                order = np.sign(told[0] - told[1])
                none += order == 0
                turned += order not in (full, 0)
            shares = (100 * count / draws for count in (other, otherwise, none, turned))
            print(
                f"{n:>9} {apart:>6.2f} "
                + " ".join(f"{share:>11.1f} %" for share in shares)
            )


def play_timing(n: int) -> None:
    """Whether computing the scores takes longer where more answers are right."""
    rng = np.random.default_rng(0)
    for target in targets(n):
        with tempfile.TemporaryDirectory() as folder:
            victim = attacked(target, Path(folder), rng)

            def seconds(answers: np.ndarray, victim: Attacked = victim) -> float:
                began = time.thread_time()
                victim.score(answers, None)
                return time.thread_time() - began

            wrong = (victim.gold + 1) % target.k
            pairs = np.array(
                [(seconds(victim.gold), seconds(wrong)) for _ in range(TIMED)]
            )
        right, other = 1000 * np.median(pairs, axis=0)
        noise = 1000 * pairs.std(axis=0).max()
        told = f"all right {right:.1f} ms, all wrong {other:.1f} ms, one run ± {noise:.1f} ms"
        print(f"  {target.name:<16} {told}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--full", action="store_true", help="a year of the tries of the presets"
    )
    parser.add_argument(
        "--presets",
        action="store_true",
        help="the private part alone; exits 1 above 5 %%",
    )
    parser.add_argument(
        "--draws",
        action="store_true",
        help="what a draw tells; exits 1 above 5 points over a constant guess",
    )
    parser.add_argument("--honest", action="store_true", help="what honest teams lose")
    parser.add_argument(
        "--timing", action="store_true", help="what the time of scoring tells"
    )
    parser.add_argument("--instances", type=int, default=128)
    given = parser.parse_args()
    if given.honest:
        honest(2_000)
    elif given.draws:
        raise SystemExit(not play_draws(2 * given.instances, 30))
    elif given.timing:
        play_timing(given.instances)
    elif given.presets:
        raise SystemExit(not play_presets(given.instances, is_full=False))
    elif given.full:
        play(given.instances, FULL)
        raise SystemExit(not play_presets(given.instances, is_full=True))
    else:
        play(min(given.instances, 64), QUICK)


if __name__ == "__main__":
    main()
