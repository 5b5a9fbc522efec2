"""Estimate the scores of runs from a judge's labels of all units and people's labels of
a random sample of units.

The seed and the number of labels per run determine the random sample, so the estimates
need no file of sampled units. People's labels of units outside the random sample are
ignored.
"""

from __future__ import annotations

import io
import json
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from scoring.metrics import Metric, metrics_of
from scoring.metrics.base import Floats, UnitColumns
from scoring.offline.entailment_exchange import item_line
from scoring.offline.estimated_units import (
    CITATIONS,
    CLAIMS,
    KINDS,
    Unit,
    citation_credit,
    units_of,
)
from scoring.offline.labels_of_both import (
    count_labels,
    labels_of,
    reader_of_answers,
    reader_of_judge,
    reader_of_people,
)
from scoring.offline.ledger import (
    header_line,
    placed_rows,
    read_judgements,
    row_line,
)
from scoring.offline.scoring import Scoring, read_scored
from scoring.stats.estimates import (
    METHOD,
    Estimate,
    Sample,
    TooFew,
    estimated,
    estimated_difference,
)
from scoring.stats.sampling import drawn_units, weights_of_labels
from tasks.types import InputRefused, OptionRefused, Pairs, Problem, Split, TaskType
from tasks.types.base import Options
from tasks.types.cited_reports.judgements import Rows
from tasks.types.ledger import (
    NO_LABEL,
    YES,
    GivenLabel,
    Judgement,
    digest_of,
    settled,
    shown_items,
)
from tasks.types.positional_citations.options import ENTAILMENT
from tasks.types.problems import refuse

PEOPLE = "people"
#: With a lower agreement with people than USEFUL_AGREEMENT, a judge saves few labels.
USEFUL_AGREEMENT = 0.8


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The plan of a sample that people label, with the kind of unit, the number of
    labels per run, and the random seed.
    """

    of: str
    labels: int
    seed: str

    @property
    def kind(self) -> str:
        return KINDS[self.of]

    def drawn(self, units: Sequence[Unit]) -> list[Unit]:
        """Return the sampled units of a run, in the order of the sheet that people
        label.
        """
        by_key = {(unit.topic, unit.key): unit for unit in units}
        return [by_key[key] for key in drawn_units(by_key, self.labels, self.seed)]


@dataclass(frozen=True, kw_only=True)
class LabelledRun:
    """A run whose units are labelled by a judge, with the rows of the run and the
    matrices of the estimated metrics.
    """

    name: str
    split: Split
    pairs: Pairs
    metrics: Mapping[str, Metric]
    matrices: Mapping[str, Floats]
    units: Sequence[Unit]


def measures_of(
    task_type: TaskType, rules: str, options: Options, of: str
) -> dict[str, Metric]:
    """Return the metrics whose scores people's labels of this kind of unit can correct.
    Raises OptionRefused if the rule set has no such metric.
    """
    metrics = {
        metric.name: metric
        for metric in metrics_of(task_type, rules, options)
        if metric.unit_columns is not None and metric.unit_columns.of == of
    }
    if not metrics:
        raise OptionRefused(f"{task_type.slug} has no measure that rests on {of}")
    return metrics


def read_units(scoring: Scoring, of: str) -> list[Unit]:
    """Read the units of a run that people can label, without the judge's labels. Raises
    InputRefused or OptionRefused.
    """
    measures_of(scoring.task_type, scoring.rules, scoring.options, of)
    read = read_scored(scoring)
    return units_of(of, read.split, read.pairs(scoring))


def read_asked(scorings: Iterable[Scoring], kind: str) -> Iterator[dict[str, Any]]:
    """Yield what a judge of a site's ledger is asked about runs, with the digests of
    other forms of the texts. The options of the runs name the judge.
    """
    for scoring in scorings:
        asked = scoring.task_type.asked_items
        read = read_scored(scoring)
        for item in asked(read.split, read.pairs(scoring)) if asked else ():
            if item.kind == kind:
                yield item_line(item)


def read_run(scoring: Scoring, of: str) -> LabelledRun:
    """Read a run together with the judge's labels of its units. Raises InputRefused if
    a unit has no label of the judge.
    """
    read = read_scored(scoring)
    pairs = read.pairs(scoring)
    metrics = measures_of(scoring.task_type, scoring.rules, scoring.options, of)
    name = scoring.run_name or scoring.run.name
    matrices = {}
    for metric in metrics.values():
        if metric.statistic not in matrices:
            rows = metric.instance_stats(pairs.gold, pairs.answers)
            matrices[metric.statistic] = rows
            _refuse_missing_labels(rows, metric, name)
    return LabelledRun(
        name=name,
        split=read.split,
        pairs=pairs,
        metrics=metrics,
        matrices=matrices,
        units=units_of(of, read.split, pairs),
    )


def _refuse_missing_labels(rows: Floats, metric: Metric, name: str) -> None:
    missing = int((rows[:, _unit_columns(metric).missing] > 0).sum())
    if missing:
        message = f"the judge lacks labels of {missing:,} rows"
        expected = "a label of every unit; people correct a judge that labelled all"
        raise InputRefused([Problem(file=name, message=message, expected=expected)])


def _unit_columns(metric: Metric) -> UnitColumns:
    assert metric.unit_columns is not None
    return metric.unit_columns


def sheet_rows(plan: Plan, units: Iterable[Sequence[Unit]]) -> Iterator[dict[str, Any]]:
    """Yield the header of a sheet for people, and then a line for each distinct
    judgement in shuffled order.

    The lines do not reveal which run contains a text.
    """
    yield {"kind": plan.kind, "judge": PEOPLE, "digest": sheet_name(plan), "by": ""}
    asked = {
        json.dumps(texts, sort_keys=True): texts
        for of_run in units
        for unit in plan.drawn(of_run)
        for texts in unit.texts
    }
    for row in sorted(asked, key=lambda row: digest_of(f"{plan.seed} {row}")):
        yield {"texts": asked[row], "label": ""}


def sheet_name(plan: Plan) -> str:
    return f"{plan.of}, {plan.labels} a run, seed {plan.seed}"


@dataclass(frozen=True, kw_only=True)
class PeoplesLabels:
    """People's judgements from a file, as ``rows`` for cited reports, or as
    ``entailed`` for pairs of claims and passages.
    """

    rows: Rows | None = None
    entailed: Mapping[str, str] | None = None


def read_people_rows(path: Path, of: str) -> list[Judgement]:
    """Read people's judgements in the format of the judgement ledger, from one file or
    several concatenated files. Raises InputRefused.
    """
    kind, lines = KINDS[of], io.StringIO()
    summary = read_judgements(path, path.name, lines, is_joined=True)
    problems = list(summary.problems)
    if not problems and summary.rows and summary.kind != kind:
        message = f"judgements of kind {summary.kind}"
        problems.append(Problem(file=path.name, message=message, expected=kind))
    refuse(problems)
    return [row for _line, row in placed_rows(lines.getvalue().splitlines())]


def labels_of_people(rows: Iterable[Judgement], of: str) -> PeoplesLabels:
    kind = KINDS[of]
    given: defaultdict[str, list[GivenLabel]] = defaultdict(list)
    for row in rows:
        given[row.items].append(GivenLabel(row.by, row.repeat, row.label))
    labels = {items: settled(kind, own).label for items, own in given.items()}
    if of == CLAIMS:
        return PeoplesLabels(entailed=labels)
    by_key = {tuple(shown_items(items)): label for items, label in labels.items()}
    return PeoplesLabels(rows=Rows(kind, labels=by_key))


def pseudonymous_lines(rows: Sequence[Judgement], plan: Plan) -> Iterator[str]:
    """Yield the lines of a file of judgements that has labels and digests, but no
    texts, names and times.
    """
    yield header_line(plan.kind, PEOPLE, sheet_name(plan))
    names: dict[str, str] = {}
    for row in rows:
        by = names.setdefault(row.by, f"person {len(names) + 1}") if row.by else ""
        yield row_line(
            Judgement(row.kind, "", "", row.items, by, row.repeat, row.label)
        )


@dataclass(frozen=True, kw_only=True)
class _PeoplesMatrices:
    """The rows and the matrices of a run, computed from people's labels."""

    answers: Sequence[Any]
    matrices: Mapping[str, Floats]


def _recompute_with_peoples_labels(
    scoring: Scoring, run: LabelledRun, people: PeoplesLabels
) -> _PeoplesMatrices:
    if people.rows is not None:
        content = run.split.content
        judged = content.judgements.with_rows(people.rows)
        split = replace(run.split, content=replace(content, judgements=judged))
        read = read_scored(scoring)._replace(split=split)
        pairs, metrics = read.pairs(scoring), run.metrics
        return _PeoplesMatrices(
            answers=pairs.answers, matrices=_matrices_by_statistic(metrics, pairs)
        )
    with tempfile.TemporaryDirectory(prefix="citeboard-people-") as folder:
        path = Path(folder) / "labels.jsonl"
        path.write_text(
            "".join(_entailment_label_lines(people.entailed or {})), encoding="utf-8"
        )
        options = {**scoring.options, ENTAILMENT.name: f"labels:{path}"}
        metrics = measures_of(scoring.task_type, scoring.rules, options, CLAIMS)
        return _PeoplesMatrices(
            answers=run.pairs.answers,
            matrices=_matrices_by_statistic(metrics, run.pairs),
        )


def _entailment_label_lines(labels: Mapping[str, str]) -> Iterator[str]:
    yield f"{json.dumps({'model': PEOPLE})}\n"
    for items, label in labels.items():
        premise, hypothesis = items.split()
        if label != NO_LABEL and len(premise) == len(hypothesis):
            value = {"premise_sha256": premise, "hypothesis_sha256": hypothesis}
            yield f"{json.dumps({**value, 'entailed': int(label == YES)})}\n"


def _matrices_by_statistic(
    metrics: Mapping[str, Metric], pairs: Pairs
) -> dict[str, Floats]:
    by_statistic = {metric.statistic: metric for metric in metrics.values()}
    return {
        name: metric.instance_stats(pairs.gold, pairs.answers)
        for name, metric in by_statistic.items()
    }


def _samples_of(
    plan: Plan, run: LabelledRun, own: _PeoplesMatrices, topics: Mapping[str, int]
) -> dict[str, Sample]:
    """Return the labelled sample of each metric, with topics as the numbers in
    ``topics``, which are the same for all runs.
    """
    return {
        name: _sample_of_metric(plan, metric, run, own, topics)
        for name, metric in run.metrics.items()
    }


def _sample_of_metric(
    plan: Plan,
    metric: Metric,
    run: LabelledRun,
    people: _PeoplesMatrices,
    topics: Mapping[str, int],
) -> Sample:
    columns = _unit_columns(metric)
    judged = run.matrices[metric.statistic]
    said = people.matrices[metric.statistic]
    drawn = {(unit.topic, unit.key) for unit in plan.drawn(run.units)}
    # A matrix row without a weight does not count in the score.
    units = [unit for unit in run.units if judged[unit.row, columns.weight] > 0]
    rows = np.array(sorted({unit.row for unit in units}), int)
    weights = judged[rows, columns.weight]
    of_row = {unit.row: topics[unit.topic] for unit in units}
    labels: list[tuple[int, float, float]] = []
    for index, unit in enumerate(units):
        if (unit.topic, unit.key) not in drawn:
            continue
        if plan.of == CITATIONS:
            is_strict = bool(getattr(metric, "is_strict", False))
            by_judge, by_people = (
                citation_credit(answers, unit, is_strict=is_strict)
                for answers in (run.pairs.answers, people.answers)
            )
        else:
            by_judge, by_people = (
                _row_value(rows_of_one, unit.row, columns)
                for rows_of_one in (judged, said)
            )
        if by_judge is not None and by_people is not None:
            labels.append((index, by_judge, by_people))
    unit_topics = np.array([topics[unit.topic] for unit in units], int)
    unit_weights = np.array([judged[unit.row, columns.weight] for unit in units])
    if plan.of == CITATIONS:
        unit_weights = unit_weights / np.bincount(unit_topics)[unit_topics]
    places = np.array([place for place, _judged, _said in labels], int)
    return Sample(
        topics=np.array([of_row[row] for row in rows.tolist()], int),
        judged=judged[rows, columns.value] / weights,
        weights=weights,
        label_topics=unit_topics[places],
        label_judged=np.array([own for _place, own, _said in labels], float),
        people=np.array([own for _place, _judged, own in labels], float),
        label_weights=weights_of_labels(unit_topics, unit_weights, places)
        if len(places)
        else np.zeros(0),
    )


def _row_value(rows: Floats, row: int, columns: UnitColumns) -> float | None:
    """Return the value of one row of a run's matrix, or None if the row has no weight
    or no label.
    """
    weight = rows[row, columns.weight]
    if weight <= 0 or rows[row, columns.missing] > 0:
        return None
    return float(rows[row, columns.value] / weight)


def topics_of(runs: Iterable[LabelledRun]) -> dict[str, int]:
    names = sorted({unit.topic for run in runs for unit in run.units})
    return {name: number for number, name in enumerate(names)}


def as_facts(
    plan: Plan, runs: Sequence[tuple[Scoring, LabelledRun]], people: PeoplesLabels
) -> dict[str, Any]:
    """Return the estimated score of each run and the estimated difference of each pair
    of runs, for each metric, as JSON values.
    """
    judged = [run for _scoring, run in runs]
    topics = topics_of(judged)
    samples, labels = {}, []
    for scoring, run in runs:
        own = _recompute_with_peoples_labels(scoring, run, people)
        samples[run.name] = _samples_of(plan, run, own, topics)
        of_topics = _labels_by_topic(plan, scoring, run, people, own, topics)
        labels.append({"run": run.name, "topics": of_topics})
    metrics = judged[0].metrics
    return {
        "method": METHOD,
        "of": plan.of,
        "labels_a_run": plan.labels,
        "seed": plan.seed,
        "measures": {
            name: _facts_of_metric(
                metric, {run: sample[name] for run, sample in samples.items()}
            )
            for name, metric in metrics.items()
        },
        "people_and_judge": {"labels": labels_of(plan.of), "systems": labels},
    }


def _labels_by_topic(
    plan: Plan,
    scoring: Scoring,
    run: LabelledRun,
    people: PeoplesLabels,
    own: _PeoplesMatrices,
    topics: Mapping[str, int],
) -> list[dict[str, Any]]:
    if plan.of == CLAIMS:
        by_people = reader_of_people(people.entailed or {})
        by_judge = reader_of_judge(scoring.options)
    else:
        by_people = reader_of_answers(plan.of, own.answers)
        by_judge = reader_of_answers(plan.of, run.pairs.answers)
    return count_labels(plan.of, plan.drawn(run.units), by_people, by_judge, topics)


def _facts_of_metric(metric: Metric, samples: Mapping[str, Sample]) -> dict[str, Any]:
    scale = float(metric.scale)
    return {
        "systems": [
            {
                "run": run,
                "judge": scale * sample.judge_alone() if len(sample.judged) else None,
                "agreement": agreement_of(sample),
                **_facts_of_estimate(estimated(sample), scale, sample.labels),
            }
            for run, sample in samples.items()
        ],
        "differences": [
            {
                "first": first,
                "second": second,
                "judge": scale * (one.judge_alone() - other.judge_alone()),
                **_facts_of_estimate(
                    estimated_difference(one, other),
                    scale,
                    min(one.labels, other.labels),
                ),
            }
            for (first, one), (second, other) in combinations(samples.items(), 2)
            if len(one.judged) and len(other.judged)
        ],
    }


def agreement_of(sample: Sample) -> float | None:
    """Return the share of sampled units to which the judge and people give the same
    credit.
    """
    if not sample.labels:
        return None
    return float(np.mean(np.isclose(sample.people, sample.label_judged)))


def _facts_of_estimate(
    found: Estimate | TooFew, scale: float, labels: int
) -> dict[str, Any]:
    if isinstance(found, TooFew):
        empty = dict.fromkeys(("estimated", "low", "high", "judge_weight", "worth"))
        return {**empty, "labels": labels, "too_few": str(found)}
    return {
        "estimated": scale * found.value,
        "low": scale * found.low,
        "high": scale * found.high,
        "judge_weight": found.judge_weight,
        "worth": found.worth,
        "labels": labels,
    }


def as_lines(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield the estimated scores as lines of text."""
    for name, measure in facts["measures"].items():
        yield f"{name}: the judge's score, and the score estimated with people's labels"
        for row in measure["systems"]:
            yield f"  {row['run']}: {_estimate_line(row)}"
        for row in measure["differences"]:
            yield f"  {row['first']} minus {row['second']}: {_estimate_line(row)}"
        agreed = [
            row["agreement"]
            for row in measure["systems"]
            if row["agreement"] is not None
        ]
        if agreed and min(agreed) < USEFUL_AGREEMENT:
            yield (
                f"  the judge agrees with people on {min(agreed):.2f} of the labels of a run: "
                f"below {USEFUL_AGREEMENT} it saves next to no labels"
            )


def _estimate_line(row: Mapping[str, Any]) -> str:
    judge = "none" if row["judge"] is None else f"{row['judge']:.4f}"
    if row["estimated"] is None:
        return (
            f"{judge}, not estimated: too few {row['too_few']} ({row['labels']} labels)"
        )
    worth = f", worth {row['worth']:.0f}" if row["worth"] is not None else ""
    return (
        f"{judge}, estimated {row['estimated']:.4f} [{row['low']:.4f}, {row['high']:.4f}] "
        f"({row['labels']} labels{worth})"
    )
