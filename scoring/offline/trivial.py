"""Score trivial runs on gold, and find anomalies of the gold that favour such runs.

`python -m scoring gold` prints the report, and the site shows the report when
organisers publish gold.
"""

import math
import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from scoring.metrics import Metric, build_metrics
from scoring.metrics.base import compute_metric_value
from scoring.metrics.classification import Coverage, OneClass
from scoring.offline.evaluate import RunMeasurements, measure_run
from scoring.offline.gold_findings import (
    MAX_LISTED_LINES,
    GoldFinding,
    build_absent_labels_finding,
    find_equal_texts,
    find_frequent_answer_positions,
    find_in_built_in_gold,
    normalise_for_comparison,
    shorten_for_message,
    unseen_words,
)
from tasks.types import InputRefused, Split, TaskType
from tasks.types.files import InputFile, open_files_of_all_inputs
from tasks.types.forms.instances import (
    InstancesAndPool,
    InstanceTask,
    TaskInstance,
    get_value_at_path,
)
from tasks.types.forms.labels import LabelTask
from tasks.types.forms.rankings import RankingTask
from tasks.types.forms.spans import SpanTask
from tasks.types.forms.tags import TagTask, find_stray_inside_tags
from tasks.types.forms.texts import TextTask
from tasks.types.jsonlines import get_record_id, read_records
from tasks.types.problems import ProblemList, SoftwareUnavailable
from tasks.types.tables import DEFAULT_DELIMITERS_BY_FORMAT, iterate_table_records
from tasks.types.trivial import (
    get_instance_task,
    get_right_answers,
    list_candidates_of_instances,
    make_trivial_answers,
    make_trivial_ranking_runs,
    make_trivial_run_files,
)
from tasks.types.trivial_runs import (
    BEST_RANDOM_RUN,
    CONSTANT_RUN,
    EMPTY_RUN,
    RANDOM_RUN,
    TrivialRunFiles,
)

#: Shares map each metric to the value's share of the scale, or None if undefined.
ShareOfScaleByMetric = dict[str, float | None]
#: If a constant run reaches MIN_WINNING_SHARE_OF_CONSTANT, a metric hardly distinguishes systems.
MIN_WINNING_SHARE_OF_CONSTANT = 0.9
#: A site stores at most MAX_STORED_ANSWER_CHARS characters of the best constant answer.
MAX_STORED_ANSWER_CHARS = 80
#: A run with few but right answers maximises CL-Summ metrics with a prefix in _FACET_METRIC_PREFIXES.
_FACET_METRIC_PREFIXES = ("facet_precision", "facet_recall")
#: Trivial runs answer at most MAX_INSTANCES_IN_QUICK_REPORT instances, or MAX_TEXTS_IN_QUICK_REPORT texts.
#: The candidate lists in a quick report have at most MAX_CANDIDATES_IN_QUICK_REPORT candidates.
(
    MAX_TEXTS_IN_QUICK_REPORT,
    MAX_INSTANCES_IN_QUICK_REPORT,
    MAX_CANDIDATES_IN_QUICK_REPORT,
) = 200, 2_000, 200_000
#: After MAX_SLOW_FAILURES failures in a row that took SLOW_FAILURE_SECONDS or longer, a metric is not
#: computed for further trivial runs.
MAX_SLOW_FAILURES, SLOW_FAILURE_SECONDS = 2, 5.0


@dataclass(frozen=True, kw_only=True)
class GoldReport:
    """The output of the command `gold`, and the constant answer with the best score."""

    instances: int
    findings: list[GoldFinding]
    trivial: dict[str, ShareOfScaleByMetric]
    best_constant: str = ""
    #: ``tried`` is the number of instances on which trivial runs were scored.
    tried: int = 0
    #: ``rows`` is the number of rows in the gold, or None if not counted.
    rows: int | None = None

    def as_dict(self) -> dict[str, Any]:
        return {
            "instances": self.instances,
            "rows": self.rows,
            "findings": [asdict(finding) for finding in self.findings],
            "trivial": self.trivial,
        }


def report_on_gold(
    task_type: TaskType, gold: Sequence[Path], options: Mapping[str, str]
) -> GoldReport:
    """Read the gold, and score trivial runs on the gold, such as runs with the same
    answer everywhere. Raises InputRefused if the gold is invalid.
    """
    files = open_files_of_all_inputs(gold)
    split = task_type.gold_of(files, options)
    return report_on_split(task_type, files, split, options)


def report_on_split(
    task_type: TaskType,
    files: Sequence[InputFile],
    split: Split,
    options: Mapping[str, str],
    *,
    is_quick: bool = False,
) -> GoldReport:
    """Score trivial runs on a split, such as runs with a constant answer, and find
    anomalies in the gold. If ``is_quick`` is True, trivial runs answer only a sample of
    the instances, but the checks for anomalies use all instances.
    """
    trials = _TrivialTrials(task_type, files, split, options, is_quick=is_quick)
    shares, best = trials.all()
    findings: list[GoldFinding] = []
    names = [metric.name for metric in trials.metrics]
    if (form := get_instance_task(task_type)) is not None:
        findings += _GoldAnomalyChecks(form, files, split, names).all()
    findings += find_in_built_in_gold(task_type, files, split, names)
    competing = trials.metrics
    if form is None:
        # A constant run with one facet for all citances can maximise facet metrics.
        competing = [
            one for one in competing if not one.name.startswith(_FACET_METRIC_PREFIXES)
        ]
    findings += _find_constant_run_wins(competing, shares.get(CONSTANT_RUN, {}), best)
    findings += trials.find_metrics_left_out()
    return GoldReport(
        instances=split.instances,
        findings=findings,
        trivial=shares,
        best_constant=best,
        tried=trials.split.instances,
        rows=split.rows,
    )


def report_on_sampled_split(
    task_type: TaskType,
    files: Sequence[InputFile],
    split: Split,
    options: Mapping[str, str],
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the anomalies of the gold and the scores of trivial runs, in the format
    that a site stores.
    """
    report = report_on_split(task_type, files, split, options, is_quick=True)
    findings = [
        {
            "kind": finding.kind,
            "count": finding.count,
            "names": [finding.message],
            "lines": finding.lines,
        }
        for finding in report.findings
    ]
    return findings, {
        "instances": report.tried,
        "constant": report.best_constant[:MAX_STORED_ANSWER_CHARS],
        "runs": report.trivial,
    }


def _limit_split_for_trials(task_type: TaskType, split: Split) -> Split:
    form = get_instance_task(task_type)
    if form is None:
        return split
    most = (
        MAX_TEXTS_IN_QUICK_REPORT
        if isinstance(form, TextTask)
        else MAX_INSTANCES_IN_QUICK_REPORT
    )
    if isinstance(form, RankingTask):
        candidates = min(max(len(split.content.pool), 1), form.longest)
        most = min(most, max(20, MAX_CANDIDATES_IN_QUICK_REPORT // candidates))
    instances = split.content.instances
    if len(instances) <= most:
        return split
    rows = sorted(random.Random(0).sample(range(len(instances)), most))  # noqa: S311
    drawn = tuple(instances[row] for row in rows)
    content = replace(split.content, instances=drawn)
    return replace(split, content=content, instances=most, index=form.index(content))


class _TrivialTrials:
    """The trivial runs on one split, and their scores under the default rule set.
    Metrics that need a model are not computed for trivial runs.
    """

    def __init__(
        self,
        task_type: TaskType,
        files: Sequence[InputFile],
        split: Split,
        options: Mapping[str, str],
        *,
        is_quick: bool,
    ) -> None:
        self.task_type, self.options = task_type, options
        self.form = get_instance_task(task_type)
        self.built_in: TrivialRunFiles | None = None
        if self.form is not None:
            self.split = (
                _limit_split_for_trials(task_type, split) if is_quick else split
            )
        else:
            runs_of = task_type.trivial_runs or make_trivial_ranking_runs
            self.built_in = runs_of(files, split, options, is_quick=is_quick)
            self.split = self.built_in.split
        self.rules = task_type.default_rule_set
        self.metrics = [
            metric
            for metric in build_metrics(task_type, self.rules, options)
            if metric.scale and not list(metric.requirements())
        ]
        self._slow_failures_by_metric: Counter[str] = Counter()

    def all(self) -> tuple[dict[str, ShareOfScaleByMetric], str]:
        """Return the scores of each valid trivial run as shares of the metrics' scales,
        and the best constant answer.
        """
        shares: dict[str, ShareOfScaleByMetric] = {}
        constants: dict[str, ShareOfScaleByMetric] = {}
        draws: list[ShareOfScaleByMetric] = []
        best = ""
        for kind, name, files in self._iterate_trivial_runs():
            if (scored := self._score_trivial_run(files)) is None:
                continue
            if kind == CONSTANT_RUN:
                constants[name] = scored
            elif kind == RANDOM_RUN:
                draws.append(scored)
            else:
                shares[name] = scored
        if constants:
            best = max(
                constants, key=lambda name: self._build_rank_key(constants[name])
            )
            shares[CONSTANT_RUN] = constants[best]
        if draws:
            shares[RANDOM_RUN] = {
                name: _compute_mean_of_defined([draw.get(name) for draw in draws])
                for name in draws[0]
            }
            shares[BEST_RANDOM_RUN] = max(draws, key=self._build_rank_key)
        return shares, best

    def find_metrics_left_out(self) -> Iterator[GoldFinding]:
        names = [metric.name for metric in self.metrics if self._is_left_out(metric)]
        if names:
            message = (
                f"left out of further trivial runs after {MAX_SLOW_FAILURES} failures in a row"
                f" of {SLOW_FAILURE_SECONDS:g} seconds or more: {', '.join(names)}"
            )
            yield GoldFinding(kind="metric_left_out", count=len(names), message=message)

    def _is_left_out(self, metric: Metric) -> bool:
        return self._slow_failures_by_metric[metric.name] == MAX_SLOW_FAILURES

    def _iterate_trivial_runs(self) -> Iterator["_TrivialRun"]:
        """Yield trivial runs one at a time to save memory, because a declared task may
        have many instances.
        """
        yield _TrivialRun(EMPTY_RUN, EMPTY_RUN, [])
        if self.built_in is not None:
            runs = self.built_in
            yield from (
                _TrivialRun(name, name, files) for name, files in runs.runs.items()
            )
            constants = runs.constants.items()
            yield from (
                _TrivialRun(CONSTANT_RUN, name, files) for name, files in constants
            )
            yield from (
                _TrivialRun(RANDOM_RUN, RANDOM_RUN, files) for files in runs.draws
            )
        if self.form is None:
            return
        answers, content = (
            make_trivial_answers(self.form, self.split),
            self.split.content,
        )
        for name, own in answers.runs.items():
            yield _TrivialRun(
                name, name, make_trivial_run_files(self.form, content, own)
            )
        for name, own in answers.constants.items():
            yield _TrivialRun(
                CONSTANT_RUN, name, make_trivial_run_files(self.form, content, own)
            )
        for own in answers.draws:
            yield _TrivialRun(
                RANDOM_RUN, RANDOM_RUN, make_trivial_run_files(self.form, content, own)
            )

    def _build_rank_key(self, shares: ShareOfScaleByMetric) -> tuple[float, ...]:
        ranks = []
        for metric in self.metrics:
            value = shares.get(metric.name)
            if value is None:
                ranks.append(-math.inf)
            else:
                ranks.append(-value if metric.higher_is_better is False else value)
        return tuple(ranks)

    def _score_trivial_run(
        self, files: Sequence[InputFile]
    ) -> ShareOfScaleByMetric | None:
        """Return the scores of a trivial run as shares of the metrics' scales, or None
        if the task refuses the run.
        """
        try:
            run, problems = self.task_type.read_run(
                files, self.split.index, self.options
            )
            if files and any(problem.fatal for problem in problems):
                return None
            pairs = self.task_type.pairs_of(self.split, run, self.rules, self.options)
        except (InputRefused, KeyError, TypeError):
            # The empty run is invalid if the task form requires an answer everywhere.
            return None
        shares: ShareOfScaleByMetric = {}
        # Precision, recall and F1 share a matrix, which is computed once.
        by_statistic: dict[str, RunMeasurements] = {}
        for metric in self.metrics:
            if self._is_left_out(metric):
                continue
            began = time.monotonic()
            try:
                if metric.statistic not in by_statistic:
                    by_statistic[metric.statistic] = measure_run([metric], pairs)
                own = by_statistic[metric.statistic]
                value = compute_metric_value(
                    metric, own.matrices[metric.statistic], own.units
                )
            except (InputRefused, TypeError, SoftwareUnavailable, ValueError):
                if time.monotonic() - began >= SLOW_FAILURE_SECONDS:
                    self._slow_failures_by_metric[metric.name] += 1
                else:
                    self._slow_failures_by_metric[metric.name] = 0
                continue
            self._slow_failures_by_metric[metric.name] = 0
            shares[metric.name] = None if math.isnan(value) else value / metric.scale
        return shares


class _TrivialRun(NamedTuple):
    """A trivial run with its kind, such as empty, constant or random, and its files."""

    kind: str
    name: str
    files: Sequence[InputFile]


def _compute_mean_of_defined(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def _find_constant_run_wins(
    metrics: Sequence[Metric], shares: ShareOfScaleByMetric, best: str
) -> Iterator[GoldFinding]:
    """Yield a finding if a run with a constant answer nearly reaches the maximum of a
    metric.

    A metric of one class counts only if the metric ranks the board, because a constant
    run always has full recall of one class.
    """
    won = {
        metric.name: share
        for index, metric in enumerate(metrics)
        if (share := shares.get(metric.name)) is not None
        and share >= MIN_WINNING_SHARE_OF_CONSTANT
        and metric.higher_is_better
        and (index == 0 or not isinstance(metric, OneClass | Coverage))
    }
    if won:
        values = ", ".join(f"{name} {value:.4f}" for name, value in won.items())
        message = f"a run that always answers “{shorten_for_message(best)}” has {values} of its scale"
        yield GoldFinding(kind="constant_wins", count=len(won), message=message)


class _GoldLineNumbers(NamedTuple):
    """The line numbers of instances and of pool documents in the gold files, keyed by
    id.
    """

    instances: dict[str, int]
    pool: dict[str, int]


class _GoldAnomalyChecks:
    """Checks that find anomalies in the gold of a declared task."""

    def __init__(
        self,
        form: InstanceTask,
        files: Sequence[InputFile],
        split: Split,
        metrics: Sequence[str],
    ) -> None:
        self.form, self.metrics = form, metrics
        self.content: InstancesAndPool = split.content
        self.lines = _find_gold_line_numbers(form, files)

    def all(self) -> Iterator[GoldFinding]:
        yield from self._find_frequent_answer_places()
        yield from self._find_absent_labels()
        yield from self._find_tags_without_entity()
        yield from self._find_equal_pool_texts()
        yield from self._find_queries_in_pool()
        yield from self._find_mismatched_quotes()
        yield from self._find_unseen_words()

    def _find_frequent_answer_places(self) -> Iterator[GoldFinding]:
        """Yield a finding for each position in candidate lists that contains the right
        answer more often than by chance.

        A candidate list that all instances share is skipped, because some documents may
        naturally be right often.
        """
        lists = list_candidates_of_instances(self.form, self.content.instances)
        if not lists:
            return
        gold = [get_right_answers(instance) for instance in self.content.instances]
        for place in find_frequent_answer_positions(lists, gold):
            yield self._build_finding_of_instances(
                "answer_first", place.rows, place.message
            )

    def _build_finding_of_instances(
        self, kind: str, rows: Sequence[int], message: str
    ) -> GoldFinding:
        names = [self.content.instances[row].id for row in rows]
        lines = [
            self.lines.instances[name] for name in names if name in self.lines.instances
        ]
        return GoldFinding(
            kind=kind, count=len(rows), lines=lines[:MAX_LISTED_LINES], message=message
        )

    def _find_absent_labels(self) -> Iterator[GoldFinding]:
        if not isinstance(self.form, LabelTask):
            return
        present = {
            label
            for instance in self.content.instances
            for label in get_right_answers(instance)
        }
        if absent := [label for label in self.form.labels if label not in present]:
            yield build_absent_labels_finding(absent)

    def _find_tags_without_entity(self) -> Iterator[GoldFinding]:
        """Yield findings for entity types without an entity, and for sentences with an
        `I-` tag that continues no entity.
        """
        if not isinstance(self.form, TagTask):
            return
        instances, labels = self.content.instances, self.form.labels
        present = {label for instance in instances for _, _, label in instance.gold}
        if absent := [label for label in labels if label not in present]:
            named = ", ".join(f"“{shorten_for_message(label)}”" for label in absent)
            message = f"no entity has the type {named}"
            yield GoldFinding(kind="label_absent", count=len(absent), message=message)
        rows = [
            row
            for row, instance in enumerate(instances)
            if find_stray_inside_tags(self.form.split_gold_tags(instance.record))
        ]
        if rows:
            reading = (
                "the lenient reading begins an entity there"
                if self.form.repair
                else "the strict reading passes over it, and `repair = true` begins an entity there"
            )
            message = (
                f"{len(rows)} sentences have an `I-` that goes on no entity: {reading}"
            )
            yield self._build_finding_of_instances("stray_inside", rows, message)

    def _normalise_pool_texts(self) -> dict[str, str]:
        return {
            name: normalise_for_comparison(record.get(self.form.pool_content, ""))
            for name, record in self.content.pool.items()
        }

    def _find_equal_pool_texts(self) -> Iterator[GoldFinding]:
        if same := find_equal_texts(self._normalise_pool_texts()):
            yield self._build_finding_of_pool(
                "same_text_in_pool", same.names, same.message
            )

    def _build_finding_of_pool(
        self, kind: str, names: Sequence[str], message: str
    ) -> GoldFinding:
        lines = sorted(
            self.lines.pool[name] for name in names if name in self.lines.pool
        )
        return GoldFinding(
            kind=kind, count=len(names), lines=lines[:MAX_LISTED_LINES], message=message
        )

    def _find_queries_in_pool(self) -> Iterator[GoldFinding]:
        if not isinstance(self.form, RankingTask):
            return
        lists = list_candidates_of_instances(self.form, self.content.instances)
        by_text = Counter(self._normalise_pool_texts().values())
        rows = []
        for row, instance in enumerate(self.content.instances):
            query = normalise_for_comparison(
                get_value_at_path(instance.record, self.form.query) or ""
            )
            is_candidate = lists is not None and instance.id in lists[row]
            if (query and by_text[query]) or (
                is_candidate and instance.id not in get_right_answers(instance)
            ):
                rows.append(row)
        if rows:
            message = (
                f"{len(rows)} queries are candidates themselves, such as that of "
                f"“{shorten_for_message(self.content.instances[rows[0]].id)}”: a search finds them first"
            )
            yield self._build_finding_of_instances("query_in_pool", rows, message)

    def _find_mismatched_quotes(self) -> Iterator[GoldFinding]:
        """Yield findings for spans whose text differs from a quotation in another field
        of the record.
        """
        if not isinstance(self.form, SpanTask):
            return
        names = {
            name for instance in self.content.instances for name in instance.record
        }
        for name in sorted(names - {self.form.field, self.form.text}):
            compared = {
                row: same
                for row, instance in enumerate(self.content.instances)
                if (same := _quotes_match(instance, name, self.form.text)) is not None
            }
            rows = [row for row, same in compared.items() if not same]
            # A field that matches no instance does not contain quotations.
            if rows and len(rows) < len(compared):
                message = f"the offsets of {len(rows)} instances cover another text than “{name}” quotes"
                yield self._build_finding_of_instances(
                    "offset_text_mismatch", rows, message
                )

    def _find_unseen_words(self) -> Iterator[GoldFinding]:
        if not isinstance(self.form, TextTask):
            return
        references = [instance.gold for instance in self.content.instances]
        if unseen := unseen_words(references, self.metrics):
            yield self._build_finding_of_instances(
                "words_not_seen", unseen.rows, unseen.message
            )


def _quotes_match(instance: TaskInstance, name: str, text_field: str) -> bool | None:
    """Return False if the spans' texts differ from the quotations in the field, or None
    if the field has no quotations.
    """
    quotes, text = (
        instance.record.get(name),
        str(get_value_at_path(instance.record, text_field)),
    )
    if not isinstance(quotes, list) or not quotes or len(quotes) != len(instance.gold):
        return None
    covered = [text[start:end] for start, end, _ in instance.gold]
    return sorted(map(str, quotes)) == sorted(covered)


def _find_gold_line_numbers(
    form: InstanceTask, files: Sequence[InputFile]
) -> _GoldLineNumbers:
    lines = _GoldLineNumbers({}, {})
    for file in files:
        is_pool = bool(form.pool_file) and file.base == form.pool_file
        if not is_pool and not form.is_instances_file(file.name):
            continue
        key, found = (
            (form.pool_id, lines.pool) if is_pool else (form.id, lines.instances)
        )
        kind = file.suffix.removeprefix(".")
        records = (
            iterate_table_records(file, form.make_pool_table_form(kind), ProblemList())
            if is_pool and kind in DEFAULT_DELIMITERS_BY_FORMAT
            else form.records(file, ProblemList())
            if not is_pool
            else read_records(file, ProblemList())
        )
        for record in records:
            if record.line is not None and (name := get_record_id(record.value, key)):
                found.setdefault(name, record.line)
    return lines
