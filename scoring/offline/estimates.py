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

from scoring.metrics import Metric, build_metrics
from scoring.metrics.base import Floats, UnitColumns
from scoring.offline.entailment_exchange import build_item_record
from scoring.offline.estimated_units import (
    CITATION_UNITS,
    CLAIM_UNITS,
    LABEL_KIND_BY_UNIT_KIND,
    LabellingUnit,
    compute_citation_credit,
    list_units,
)
from scoring.offline.labels_of_both import (
    count_labels,
    list_possible_labels,
    make_answer_label_reader,
    make_judge_label_reader,
    make_people_label_reader,
)
from scoring.offline.ledger import (
    format_header_line,
    format_row_line,
    iterate_numbered_judgements,
    read_judgements,
)
from scoring.offline.scoring import ScoringRequest, read_gold_and_run
from scoring.stats.estimates import (
    ESTIMATION_METHOD,
    LabelledSample,
    NoEstimateReason,
    ScoreEstimate,
    estimate_score,
    estimated_difference,
)
from scoring.stats.sampling import compute_label_weights, draw_unit_sample
from tasks.types import InputRefused, OptionRefused, Pairs, Problem, Split, TaskType
from tasks.types.base import Options
from tasks.types.cited_reports.judgements import JudgementsOfKind
from tasks.types.ledger import (
    ENTAILED_LABEL,
    NO_VALID_LABEL,
    Judgement,
    RecordedLabel,
    compute_text_digest,
    decide_label,
    format_item_digests,
)
from tasks.types.positional_citations.options import ENTAILMENT_OPTION
from tasks.types.problems import raise_if_any_problem_is_fatal

PEOPLE_AS_JUDGE = "people"
#: With a lower agreement with people than MIN_USEFUL_AGREEMENT, a judge saves few labels.
MIN_USEFUL_AGREEMENT = 0.8


@dataclass(frozen=True, kw_only=True)
class LabellingPlan:
    """The plan of a sample that people label, with the kind of unit, the number of
    labels per run, and the random seed.
    """

    of: str
    labels: int
    seed: str

    @property
    def kind(self) -> str:
        return LABEL_KIND_BY_UNIT_KIND[self.of]

    def drawn(self, units: Sequence[LabellingUnit]) -> list[LabellingUnit]:
        """Return the sampled units of a run, in the order of the sheet that people
        label.
        """
        by_key = {(unit.topic, unit.key): unit for unit in units}
        return [by_key[key] for key in draw_unit_sample(by_key, self.labels, self.seed)]


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
    units: Sequence[LabellingUnit]


def find_estimable_metrics(
    task_type: TaskType, rules: str, options: Options, of: str
) -> dict[str, Metric]:
    """Return the metrics whose scores people's labels of this kind of unit can correct.
    Raises OptionRefused if the rule set has no such metric.
    """
    metrics = {
        metric.name: metric
        for metric in build_metrics(task_type, rules, options)
        if metric.unit_columns is not None and metric.unit_columns.of == of
    }
    if not metrics:
        raise OptionRefused(f"{task_type.slug} has no measure that rests on {of}")
    return metrics


def read_units(scoring: ScoringRequest, of: str) -> list[LabellingUnit]:
    """Read the units of a run that people can label, without the judge's labels. Raises
    InputRefused or OptionRefused.
    """
    find_estimable_metrics(scoring.task_type, scoring.rules, scoring.options, of)
    read = read_gold_and_run(scoring)
    return list_units(of, read.split, read.pairs(scoring))


def iterate_judge_questions(
    scorings: Iterable[ScoringRequest], kind: str
) -> Iterator[dict[str, Any]]:
    """Yield what a judge of a site's ledger is asked about runs, with the digests of
    other forms of the texts. The options of the runs name the judge.
    """
    for scoring in scorings:
        asked = scoring.task_type.asked_items
        read = read_gold_and_run(scoring)
        for item in asked(read.split, read.pairs(scoring)) if asked else ():
            if item.kind == kind:
                yield build_item_record(item)


def read_labelled_run(scoring: ScoringRequest, of: str) -> LabelledRun:
    """Read a run together with the judge's labels of its units. Raises InputRefused if
    a unit has no label of the judge.
    """
    read = read_gold_and_run(scoring)
    pairs = read.pairs(scoring)
    metrics = find_estimable_metrics(
        scoring.task_type, scoring.rules, scoring.options, of
    )
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
        units=list_units(of, read.split, pairs),
    )


def _refuse_missing_labels(rows: Floats, metric: Metric, name: str) -> None:
    missing = int((rows[:, _require_unit_columns(metric).missing] > 0).sum())
    if missing:
        message = f"the judge lacks labels of {missing:,} rows"
        expected = "a label of every unit; people correct a judge that labelled all"
        raise InputRefused([Problem(file=name, message=message, expected=expected)])


def _require_unit_columns(metric: Metric) -> UnitColumns:
    assert metric.unit_columns is not None
    return metric.unit_columns


def iterate_sheet_rows(
    plan: LabellingPlan, units: Iterable[Sequence[LabellingUnit]]
) -> Iterator[dict[str, Any]]:
    """Yield the header of a sheet for people, and then a line for each distinct
    judgement in shuffled order.

    The lines do not reveal which run contains a text.
    """
    yield {
        "kind": plan.kind,
        "judge": PEOPLE_AS_JUDGE,
        "digest": format_sheet_name(plan),
        "by": "",
    }
    asked = {
        json.dumps(texts, sort_keys=True): texts
        for of_run in units
        for unit in plan.drawn(of_run)
        for texts in unit.texts
    }
    for row in sorted(asked, key=lambda row: compute_text_digest(f"{plan.seed} {row}")):
        yield {"texts": asked[row], "label": ""}


def format_sheet_name(plan: LabellingPlan) -> str:
    return f"{plan.of}, {plan.labels} a run, seed {plan.seed}"


@dataclass(frozen=True, kw_only=True)
class PeoplesLabels:
    """People's judgements from a file, as ``rows`` for cited reports, or as
    ``entailed`` for pairs of claims and passages.
    """

    rows: JudgementsOfKind | None = None
    entailed: Mapping[str, str] | None = None


def read_people_rows(path: Path, of: str) -> list[Judgement]:
    """Read people's judgements in the format of the judgement ledger, from one file or
    several concatenated files. Raises InputRefused.
    """
    kind, lines = LABEL_KIND_BY_UNIT_KIND[of], io.StringIO()
    summary = read_judgements(path, path.name, lines, is_joined=True)
    problems = list(summary.problems)
    if not problems and summary.rows and summary.kind != kind:
        message = f"judgements of kind {summary.kind}"
        problems.append(Problem(file=path.name, message=message, expected=kind))
    raise_if_any_problem_is_fatal(problems)
    return [
        row for _line, row in iterate_numbered_judgements(lines.getvalue().splitlines())
    ]


def group_labels_of_people(rows: Iterable[Judgement], of: str) -> PeoplesLabels:
    kind = LABEL_KIND_BY_UNIT_KIND[of]
    given: defaultdict[str, list[RecordedLabel]] = defaultdict(list)
    for row in rows:
        given[row.items].append(RecordedLabel(row.by, row.repeat, row.label))
    labels = {items: decide_label(kind, own).label for items, own in given.items()}
    if of == CLAIM_UNITS:
        return PeoplesLabels(entailed=labels)
    by_key = {
        tuple(format_item_digests(items)): label for items, label in labels.items()
    }
    return PeoplesLabels(rows=JudgementsOfKind(kind, labels=by_key))


def iterate_pseudonymous_lines(
    rows: Sequence[Judgement], plan: LabellingPlan
) -> Iterator[str]:
    """Yield the lines of a file of judgements that has labels and digests, but no
    texts, names and times.
    """
    yield format_header_line(plan.kind, PEOPLE_AS_JUDGE, format_sheet_name(plan))
    names: dict[str, str] = {}
    for row in rows:
        by = names.setdefault(row.by, f"person {len(names) + 1}") if row.by else ""
        yield format_row_line(
            Judgement(row.kind, "", "", row.items, by, row.repeat, row.label)
        )


@dataclass(frozen=True, kw_only=True)
class _PeoplesMatrices:
    """The rows and the matrices of a run, computed from people's labels."""

    answers: Sequence[Any]
    matrices: Mapping[str, Floats]


def _recompute_with_peoples_labels(
    scoring: ScoringRequest, run: LabelledRun, people: PeoplesLabels
) -> _PeoplesMatrices:
    if people.rows is not None:
        content = run.split.content
        judged = content.judgements.with_judgements_of_kind(people.rows)
        split = replace(run.split, content=replace(content, judgements=judged))
        read = read_gold_and_run(scoring)._replace(split=split)
        pairs, metrics = read.pairs(scoring), run.metrics
        return _PeoplesMatrices(
            answers=pairs.answers,
            matrices=_compute_matrices_by_statistic(metrics, pairs),
        )
    with tempfile.TemporaryDirectory(prefix="citeboard-people-") as folder:
        path = Path(folder) / "labels.jsonl"
        path.write_text(
            "".join(_iterate_entailment_label_lines(people.entailed or {})),
            encoding="utf-8",
        )
        options = {**scoring.options, ENTAILMENT_OPTION.name: f"labels:{path}"}
        metrics = find_estimable_metrics(
            scoring.task_type, scoring.rules, options, CLAIM_UNITS
        )
        return _PeoplesMatrices(
            answers=run.pairs.answers,
            matrices=_compute_matrices_by_statistic(metrics, run.pairs),
        )


def _iterate_entailment_label_lines(labels: Mapping[str, str]) -> Iterator[str]:
    yield f"{json.dumps({'model': PEOPLE_AS_JUDGE})}\n"
    for items, label in labels.items():
        premise, hypothesis = items.split()
        if label != NO_VALID_LABEL and len(premise) == len(hypothesis):
            value = {"premise_sha256": premise, "hypothesis_sha256": hypothesis}
            yield f"{json.dumps({**value, 'entailed': int(label == ENTAILED_LABEL)})}\n"


def _compute_matrices_by_statistic(
    metrics: Mapping[str, Metric], pairs: Pairs
) -> dict[str, Floats]:
    by_statistic = {metric.statistic: metric for metric in metrics.values()}
    return {
        name: metric.instance_stats(pairs.gold, pairs.answers)
        for name, metric in by_statistic.items()
    }


def _build_samples(
    plan: LabellingPlan,
    run: LabelledRun,
    own: _PeoplesMatrices,
    topics: Mapping[str, int],
) -> dict[str, LabelledSample]:
    """Return the labelled sample of each metric, with topics as the numbers in
    ``topics``, which are the same for all runs.
    """
    return {
        name: _build_sample_of_metric(plan, metric, run, own, topics)
        for name, metric in run.metrics.items()
    }


def _build_sample_of_metric(
    plan: LabellingPlan,
    metric: Metric,
    run: LabelledRun,
    people: _PeoplesMatrices,
    topics: Mapping[str, int],
) -> LabelledSample:
    columns = _require_unit_columns(metric)
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
        if plan.of == CITATION_UNITS:
            is_strict = bool(getattr(metric, "is_strict", False))
            by_judge, by_people = (
                compute_citation_credit(answers, unit, is_strict=is_strict)
                for answers in (run.pairs.answers, people.answers)
            )
        else:
            by_judge, by_people = (
                _compute_row_value(rows_of_one, unit.row, columns)
                for rows_of_one in (judged, said)
            )
        if by_judge is not None and by_people is not None:
            labels.append((index, by_judge, by_people))
    unit_topics = np.array([topics[unit.topic] for unit in units], int)
    unit_weights = np.array([judged[unit.row, columns.weight] for unit in units])
    if plan.of == CITATION_UNITS:
        unit_weights = unit_weights / np.bincount(unit_topics)[unit_topics]
    places = np.array([place for place, _judged, _said in labels], int)
    return LabelledSample(
        topics=np.array([of_row[row] for row in rows.tolist()], int),
        judged=judged[rows, columns.value] / weights,
        weights=weights,
        label_topics=unit_topics[places],
        label_judged=np.array([own for _place, own, _said in labels], float),
        people=np.array([own for _place, _judged, own in labels], float),
        label_weights=compute_label_weights(unit_topics, unit_weights, places)
        if len(places)
        else np.zeros(0),
    )


def _compute_row_value(rows: Floats, row: int, columns: UnitColumns) -> float | None:
    """Return the value of one row of a run's matrix, or None if the row has no weight
    or no label.
    """
    weight = rows[row, columns.weight]
    if weight <= 0 or rows[row, columns.missing] > 0:
        return None
    return float(rows[row, columns.value] / weight)


def number_topics(runs: Iterable[LabelledRun]) -> dict[str, int]:
    names = sorted({unit.topic for run in runs for unit in run.units})
    return {name: number for number, name in enumerate(names)}


def compute_estimates_as_json(
    plan: LabellingPlan,
    runs: Sequence[tuple[ScoringRequest, LabelledRun]],
    people: PeoplesLabels,
) -> dict[str, Any]:
    """Return the estimated score of each run and the estimated difference of each pair
    of runs, for each metric, as JSON values.
    """
    judged = [run for _scoring, run in runs]
    topics = number_topics(judged)
    samples, labels = {}, []
    for scoring, run in runs:
        own = _recompute_with_peoples_labels(scoring, run, people)
        samples[run.name] = _build_samples(plan, run, own, topics)
        of_topics = _count_labels_by_topic(plan, scoring, run, people, own, topics)
        labels.append({"run": run.name, "topics": of_topics})
    metrics = judged[0].metrics
    return {
        "method": ESTIMATION_METHOD,
        "of": plan.of,
        "labels_a_run": plan.labels,
        "seed": plan.seed,
        "measures": {
            name: _estimate_metric(
                metric, {run: sample[name] for run, sample in samples.items()}
            )
            for name, metric in metrics.items()
        },
        "people_and_judge": {
            "labels": list_possible_labels(plan.of),
            "systems": labels,
        },
    }


def _count_labels_by_topic(
    plan: LabellingPlan,
    scoring: ScoringRequest,
    run: LabelledRun,
    people: PeoplesLabels,
    own: _PeoplesMatrices,
    topics: Mapping[str, int],
) -> list[dict[str, Any]]:
    if plan.of == CLAIM_UNITS:
        by_people = make_people_label_reader(people.entailed or {})
        by_judge = make_judge_label_reader(scoring.options)
    else:
        by_people = make_answer_label_reader(plan.of, own.answers)
        by_judge = make_answer_label_reader(plan.of, run.pairs.answers)
    return count_labels(plan.of, plan.drawn(run.units), by_people, by_judge, topics)


def _estimate_metric(
    metric: Metric, samples: Mapping[str, LabelledSample]
) -> dict[str, Any]:
    scale = float(metric.scale)
    return {
        "systems": [
            {
                "run": run,
                "judge": scale * sample.compute_judge_mean()
                if len(sample.judged)
                else None,
                "agreement": compute_agreement_with_people(sample),
                **_build_estimate_fields(estimate_score(sample), scale, sample.labels),
            }
            for run, sample in samples.items()
        ],
        "differences": [
            {
                "first": first,
                "second": second,
                "judge": scale
                * (one.compute_judge_mean() - other.compute_judge_mean()),
                **_build_estimate_fields(
                    estimated_difference(one, other),
                    scale,
                    min(one.labels, other.labels),
                ),
            }
            for (first, one), (second, other) in combinations(samples.items(), 2)
            if len(one.judged) and len(other.judged)
        ],
    }


def compute_agreement_with_people(sample: LabelledSample) -> float | None:
    """Return the share of sampled units to which the judge and people give the same
    credit.
    """
    if not sample.labels:
        return None
    return float(np.mean(np.isclose(sample.people, sample.label_judged)))


def _build_estimate_fields(
    found: ScoreEstimate | NoEstimateReason, scale: float, labels: int
) -> dict[str, Any]:
    if isinstance(found, NoEstimateReason):
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


def format_estimates(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield the estimated scores as lines of text."""
    for name, measure in facts["measures"].items():
        yield f"{name}: the judge's score, and the score estimated with people's labels"
        for row in measure["systems"]:
            yield f"  {row['run']}: {_format_estimate(row)}"
        for row in measure["differences"]:
            yield f"  {row['first']} minus {row['second']}: {_format_estimate(row)}"
        agreed = [
            row["agreement"]
            for row in measure["systems"]
            if row["agreement"] is not None
        ]
        if agreed and min(agreed) < MIN_USEFUL_AGREEMENT:
            yield (
                f"  the judge agrees with people on {min(agreed):.2f} of the labels of a run: "
                f"below {MIN_USEFUL_AGREEMENT} it saves next to no labels"
            )


def _format_estimate(row: Mapping[str, Any]) -> str:
    judge = "none" if row["judge"] is None else f"{row['judge']:z.4f}"
    if row["estimated"] is None:
        return (
            f"{judge}, not estimated: too few {row['too_few']} ({row['labels']} labels)"
        )
    worth = f", worth {row['worth']:.0f}" if row["worth"] is not None else ""
    return (
        f"{judge}, estimated {row['estimated']:z.4f} [{row['low']:z.4f}, {row['high']:z.4f}] "
        f"({row['labels']} labels{worth})"
    )
