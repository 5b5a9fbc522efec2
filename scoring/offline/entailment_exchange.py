"""Export the entailment pairs that need labels, and import labels, as JSON lines."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from scoring.metrics import entailment
from scoring.metrics.base import Metric
from scoring.metrics.entailed import CitationMetric
from tasks.types.base import OptionRefused, Pairs
from tasks.types.files import open_input_files
from tasks.types.ledger import ItemToJudge
from tasks.types.problems import (
    MISSING_JUDGEMENTS_MESSAGE,
    JudgementsPending,
    Problem,
    SoftwareUnavailable,
    raise_if_any_problem_is_fatal,
)
from tasks.types.text import iterate_json_objects

EXAMPLE_PAIR_LINE = '{"premise": "Title: Rain\\nIt rains.", "hypothesis": "It rains"}'


def find_pending_pairs(
    metrics: Sequence[CitationMetric], pairs: Pairs, *, is_next_only: bool = False
) -> list[entailment.EntailmentPair]:
    """Return the distinct entailment pairs without a label that the metrics may need.
    If ``is_next_only`` is True, the result contains only pairs that the metrics need
    whatever the labels of other pairs are.
    """
    pending: dict[entailment.EntailmentPair, None] = {}
    for metric in {metric.statistic: metric for metric in metrics}.values():
        for verdict in entailment.decide_claims(
            metric.build_cases(pairs.gold, pairs.answers), metric.judge
        ):
            pending |= dict.fromkeys(verdict.next if is_next_only else verdict.pending)
    return list(pending)


def raise_if_pairs_pending(
    metrics: Sequence[Metric],
    pairs: Pairs,
    path: Path,
    items: Sequence[ItemToJudge] = (),
) -> None:
    """Write the pairs without a label to a file, and mark the pairs that the metrics
    need whatever the labels of other pairs are. ``items`` are the pairs that the task
    type asks in addition to the metrics.

    Raises Pending if entailment pairs without a label exist, and Unavailable if
    judgements of the gold are missing.
    """
    if pairs.pending:
        # The number of missing judgements would reveal secret judgements to teams.
        raise SoftwareUnavailable(MISSING_JUDGEMENTS_MESSAGE)
    asking = {
        metric.statistic: metric
        for metric in metrics
        if isinstance(metric, CitationMetric)
    }
    watched = {
        name: entailment.RecordingJudge(metric.judge) for name, metric in asking.items()
    }
    cases = (
        (metric.build_cases(pairs.gold, pairs.answers), watched[name])
        for name, metric in asking.items()
    )
    verdicts = [
        verdict
        for asked, judge in cases
        for verdict in entailment.decide_claims(asked, judge)
    ]
    units = (
        unit
        for metric in asking.values()
        for unit in iterate_units_of_claims(metric, pairs)
    )
    pending: dict[entailment.EntailmentPair, str] = {}
    for verdict, unit in zip(verdicts, units, strict=True):
        for pair in verdict.pending:
            pending.setdefault(pair, unit)
    open_items = [item for item in items if item.is_open]
    if not pending and not open_items:
        return
    first = {pair for verdict in verdicts for pair in verdict.next}
    with path.open("w", encoding="utf-8") as file:
        _append_lines(
            file,
            [
                {**build_pair_record(pair), "next": pair in first, "unit": unit}
                for pair, unit in pending.items()
            ],
        )
        _append_lines(file, list(map(build_item_record, open_items)))
    asked = {pair for judge in watched.values() for pair in judge.answers}
    raise JudgementsPending(len(pending) + len(open_items), len(asked) + len(items))


def iterate_units_of_claims(metric: CitationMetric, pairs: Pairs) -> Iterator[str]:
    """Yield the resampling unit of each case of the metric, such as its question."""
    units = pairs.clusters or pairs.units
    for gold, answer, unit in zip(pairs.gold, pairs.answers, units, strict=True):
        for _case in metric.build_cases([gold], [answer]):
            yield unit if isinstance(unit, str) else " ".join(unit)


def build_item_record(item: ItemToJudge) -> dict[str, Any]:
    others = {"others": item.others} if item.others else {}
    return {
        "kind": item.kind,
        **item.texts_by_role,
        "next": True,
        "unit": item.unit,
        **others,
    }


def build_pair_record(pair: entailment.EntailmentPair) -> dict[str, str]:
    return {"premise": pair.premise, "hypothesis": pair.hypothesis}


def read_distinct_pairs(path: Path) -> list[entailment.EntailmentPair]:
    """Return the distinct entailment pairs of a file in the order of the file. Raises
    InputRefused with all lines of the file that are no valid pairs.
    """
    problems: list[Problem] = []
    pairs: dict[entailment.EntailmentPair, None] = {}
    for file in open_input_files(path):
        for line, record, raw in iterate_json_objects(file, problems):
            if all(
                isinstance(record.get(part), str) for part in ("premise", "hypothesis")
            ):
                pairs[
                    entailment.EntailmentPair(record["premise"], record["hypothesis"])
                ] = None
            else:
                problems.append(
                    file.make_problem(
                        "not a pair", EXAMPLE_PAIR_LINE, line=line, raw=raw
                    )
                )
    raise_if_any_problem_is_fatal(problems)
    return list(pairs)


def decide(
    pairs: Iterable[entailment.EntailmentPair],
    judge: entailment.ModelJudge,
    path: Path,
    progress: Callable[[int, int], None],
) -> tuple[int, int]:
    """Append the model's labels of entailment pairs to a label file, batch by batch,
    and return the numbers of new and of existing labels.

    After an interruption, the next call of the function continues after the last
    complete line.
    """
    labels = _read_labels(path, judge.name)
    distinct = list(dict.fromkeys(pairs))
    new = [pair for pair in distinct if labels is None or pair not in labels]
    done = 0
    with path.open("a", encoding="utf-8") as file:
        for batch in judge.decided(new):
            _append_lines(
                file,
                [
                    entailment.build_label_record(pair, entailed=yes, model=judge.name)
                    for pair, yes in batch
                ],
            )
            done += len(batch)
            progress(done, len(new))
    return done, len(distinct) - len(new)


def _read_labels(path: Path, model: str) -> entailment.EntailmentLabels | None:
    """Return the labels in a file of entailment labels. An incomplete last line, which
    an interruption may leave, is removed from the file first. Raises OptionRefused.
    """
    if not path.exists():
        return None
    content = path.read_bytes()
    if (whole := content.rfind(b"\n") + 1) < len(content):
        with path.open("r+b") as file:
            file.truncate(whole)
    if not whole:
        return None
    labels = entailment.read_stored_labels(path)
    if len(labels) and labels.model != model:
        raise OptionRefused(
            f"{path} holds labels of {labels.model}, not of {model}; give each model a file"
        )
    return labels


def _append_lines(file: IO[str], lines: Sequence[Mapping[str, Any]]) -> None:
    file.writelines(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
    file.flush()
    os.fsync(file.fileno())
