"""What a run that knows nothing scores on gold, and what in the gold lets such a run win.

`python -m scoring gold` prints this, and the site reports it where gold is published.
"""

import math
import random
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from scipy.special import bdtrc

from scoring.metrics import Metric, metrics_of
from scoring.metrics.base import value_of
from scoring.metrics.classification import Coverage, OneClass
from scoring.offline.evaluate import measured
from tasks.types import InputRefused, Split, TaskType
from tasks.types.clsumm.topics import Topic
from tasks.types.files import InputFile, open_inputs
from tasks.types.forms.instances import (
    Content,
    Instance,
    InstanceTask,
    at_path,
)
from tasks.types.forms.labels import LabelTask
from tasks.types.forms.rankings import RankingTask
from tasks.types.forms.spans import SpanTask
from tasks.types.forms.tags import TagTask, strays
from tasks.types.forms.texts import TextTask
from tasks.types.jsonlines import read_records, record_id
from tasks.types.problems import Problems, Unavailable
from tasks.types.tables import TABLES, table_records
from tasks.types.trivial import (
    CONSTANT,
    EMPTY,
    RANDOM,
    RANDOM_BEST,
    Answers,
    answers_of,
    candidate_lists,
    form_of,
    ranked_answers,
    ranked_run,
    run_of,
    trivial_answers,
)

#: By metric the share of its scale; None where a value is undefined.
Shares = dict[str, float | None]
#: Significance level: chance alone reports a position in at most this share of gold files.
SIGNIFICANT = 0.001
#: Positions looked at from the front; the last one is looked at as well.
POSITIONS = 20
#: A constant run with this share of a main measure leaves systems too little to win.
CONSTANT_WINS = 0.9
#: Measures whose tokens are words of Latin letters and digits.
_LATIN_WORDS = ("rouge",)
#: The share of the gold's letters that tokens have to cover, and the letters of a text that one token may be.
LEAST_COVERED, ONE_TOKEN = 0.5, 20
_TOKENS_OF_ROUGE = re.compile("[a-z0-9]+")
MAX_LINES = 20
#: Characters of the best constant answer that a site keeps.
MAX_ANSWER = 80
#: Where someone waits for the report, so many instances are drawn, of which runs are tried: of texts, and of
#: other answers; of rankings fewer the more candidates there are.
MOST_TEXTS, MOST, MOST_CANDIDATES = 200, 2_000, 200_000
#: Rankings of a built-in type with more candidates in all are not tried.
MOST_RANKED_IN_ALL = 200_000


@dataclass(frozen=True, kw_only=True)
class GoldFinding:
    """An anomaly of gold: `count` things, the first `lines` of the gold's files, and a sentence."""

    kind: str
    count: int
    lines: list[int] = field(default_factory=list)
    message: str


@dataclass(frozen=True, kw_only=True)
class GoldReport:
    """What `gold --json` prints, and the constant answer that scores best."""

    instances: int
    findings: list[GoldFinding]
    trivial: dict[str, Shares]
    best_constant: str = ""
    #: The instances on which runs were tried.
    tried: int = 0

    def as_dict(self) -> dict[str, Any]:
        return {
            "instances": self.instances,
            "findings": [asdict(finding) for finding in self.findings],
            "trivial": self.trivial,
        }


def report_on_gold(
    task_type: TaskType, gold: Sequence[Path], options: Mapping[str, str]
) -> GoldReport:
    """Read the gold and try trivial runs on it. Raise InputRefused if it cannot be read."""
    files = open_inputs(gold)
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
    """Try trivial runs, on a part of the instances if it is to be quick; findings are of all instances."""
    trials = _Trials(
        task_type, _drawn(task_type, split) if is_quick else split, options
    )
    shares, best = trials.all()
    findings: list[GoldFinding] = []
    if (form := form_of(task_type)) is not None:
        names = [metric.name for metric in trials.metrics]
        findings = list(_Anomalies(form, files, split, names).all())
    findings += _clsumm_offsets(split)
    findings += _constant_wins(trials.metrics, shares.get(CONSTANT, {}), best)
    return GoldReport(
        instances=split.instances,
        findings=findings,
        trivial=shares,
        best_constant=best,
        tried=trials.split.instances,
    )


def quick_report(
    task_type: TaskType,
    files: Sequence[InputFile],
    split: Split,
    options: Mapping[str, str],
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return findings and the scores of trivial runs as a site keeps them."""
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
        "constant": report.best_constant[:MAX_ANSWER],
        "runs": report.trivial,
    }


def _drawn(task_type: TaskType, split: Split) -> Split:
    """Return the split with at most so many drawn instances that trivial runs take little time."""
    form = form_of(task_type)
    if form is None:
        return split
    most = MOST_TEXTS if isinstance(form, TextTask) else MOST
    if isinstance(form, RankingTask):
        candidates = min(max(len(split.content.pool), 1), form.longest)
        most = min(most, max(20, MOST_CANDIDATES // candidates))
    instances = split.content.instances
    if len(instances) <= most:
        return split
    rows = sorted(random.Random(0).sample(range(len(instances)), most))  # noqa: S311
    drawn = tuple(instances[row] for row in rows)
    content = replace(split.content, instances=drawn)
    return replace(split, content=content, instances=most, index=form.index(content))


class _Trials:
    """Trivial runs on one split, scored by the default rules without what needs a model."""

    def __init__(
        self, task_type: TaskType, split: Split, options: Mapping[str, str]
    ) -> None:
        self.task_type, self.split, self.options = task_type, split, options
        self.rules = task_type.default_rules
        self.metrics = [
            metric
            for metric in metrics_of(task_type, self.rules, options)
            if metric.scale and not list(metric.requirements())
        ]

    def all(self) -> tuple[dict[str, Shares], str]:
        """Return the shares of each run that can be scored, and the best constant answer."""
        shares: dict[str, Shares] = {}
        best = ""
        if (empty := self._scored([])) is not None:
            shares[EMPTY] = empty
        form = form_of(self.task_type)
        answers = (
            ranked_answers(self.split, MOST_RANKED_IN_ALL)
            if form is None
            else trivial_answers(form, self.split)
        )
        for name, own in answers.runs.items():
            if (scored := self._answered(form, own)) is not None:
                shares[name] = scored
        constants = {
            name: scored
            for name, own in answers.constants.items()
            if (scored := self._answered(form, own)) is not None
        }
        if constants:
            best = max(constants, key=lambda name: self._rank(constants[name]))
            shares[CONSTANT] = constants[best]
        draws = [
            scored
            for own in answers.draws
            if (scored := self._answered(form, own)) is not None
        ]
        if draws:
            shares[RANDOM] = {
                name: _mean([draw[name] for draw in draws]) for name in draws[0]
            }
            shares[RANDOM_BEST] = max(draws, key=self._rank)
        return shares, best

    def _rank(self, shares: Shares) -> tuple[float, ...]:
        """Return a sort key: the share of each metric in order, with signs such that higher is better."""
        ranks = []
        for metric in self.metrics:
            value = shares.get(metric.name)
            if value is None:
                ranks.append(-math.inf)
            else:
                ranks.append(-value if metric.higher_is_better is False else value)
        return tuple(ranks)

    def _answered(self, form: InstanceTask | None, answers: Answers) -> Shares | None:
        if form is None:
            return self._scored(ranked_run(self.split, answers))
        return self._scored(run_of(form, self.split.content, answers))

    def _scored(self, files: Sequence[InputFile]) -> Shares | None:
        """Return the shares of a run; None if the task refuses the run."""
        try:
            run, problems = self.task_type.read_run(
                files, self.split.index, self.options
            )
            if files and any(problem.fatal for problem in problems):
                return None
            pairs = self.task_type.pairs_of(self.split, run, self.rules, self.options)
        except (InputRefused, KeyError, TypeError):
            # Forms whose answers may not be missing have no empty run.
            return None
        shares: Shares = {}
        for metric in self.metrics:
            try:
                own = measured([metric], pairs)
                value = value_of(metric, own.matrices[metric.statistic], own.units)
            except (InputRefused, TypeError, Unavailable, ValueError):
                continue
            shares[metric.name] = None if math.isnan(value) else value / metric.scale
        return shares


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def _constant_wins(
    metrics: Sequence[Metric], shares: Shares, best: str
) -> Iterator[GoldFinding]:
    """Yield a finding if a constant run scores near the top of a measure.

    Measures of one class count only if they rank: a constant has full recall of its own class.
    """
    won = {
        metric.name: share
        for place, metric in enumerate(metrics)
        if (share := shares.get(metric.name)) is not None
        and share >= CONSTANT_WINS
        and metric.higher_is_better is not False
        and (place == 0 or not isinstance(metric, OneClass | Coverage))
    }
    if won:
        values = ", ".join(f"{name} {value:.4f}" for name, value in won.items())
        message = (
            f"a run that always answers “{_short(best)}” has {values} of its scale"
        )
        yield GoldFinding(kind="constant_wins", count=len(won), message=message)


class _Lines(NamedTuple):
    """By id the line of each instance, and of each document of the pool."""

    instances: dict[str, int]
    pool: dict[str, int]


class _Anomalies:
    """What is odd about the gold of a declared task."""

    def __init__(
        self,
        form: InstanceTask,
        files: Sequence[InputFile],
        split: Split,
        metrics: Sequence[str],
    ) -> None:
        self.form, self.metrics = form, metrics
        self.content: Content = split.content
        self.lines = _lines_of(form, files)

    def all(self) -> Iterator[GoldFinding]:
        yield from self._answer_first()
        yield from self._label_absent()
        yield from self._tags_of_no_entity()
        yield from self._same_text_in_pool()
        yield from self._query_in_pool()
        yield from self._offset_text_mismatch()
        yield from self._words_not_seen()

    def _answer_first(self) -> Iterator[GoldFinding]:
        """Yield a finding for each position in candidate lists that holds the answer more often than chance.

        A shared pool is not examined: some of its documents may simply be right often.
        """
        lists = candidate_lists(self.form, self.content.instances)
        if not lists:
            return
        gold = [answers_of(instance) for instance in self.content.instances]
        chances = [
            len(own.intersection(names)) / len(names)
            for own, names in zip(gold, lists, strict=True)
        ]
        places = [*range(min(max(map(len, lists)), POSITIONS)), -1]
        for place in places:
            # The last of a short list was looked at from the front.
            least = max(2, place + 1) if place >= 0 else POSITIONS + 1
            rows = [row for row, names in enumerate(lists) if len(names) >= least]
            hits = [row for row in rows if lists[row][place] in gold[row]]
            if not hits:
                continue
            expected = math.fsum(chances[row] for row in rows)
            # The sum of unequal chances varies less than the binomial of their mean.
            p = bdtrc(len(hits) - 1, len(rows), expected / len(rows))
            if p * len(places) < SIGNIFICANT:
                where = "the last" if place < 0 else f"number {place + 1}"
                message = (
                    f"{where} of the candidates is right in {len(hits)} of {len(rows)} instances, by chance "
                    f"in {expected:.1f}: a run can win by their order"
                )
                yield self._of_instances("answer_first", hits, message)

    def _of_instances(
        self, kind: str, rows: Sequence[int], message: str
    ) -> GoldFinding:
        names = [self.content.instances[row].id for row in rows]
        lines = [
            self.lines.instances[name] for name in names if name in self.lines.instances
        ]
        return GoldFinding(
            kind=kind, count=len(rows), lines=lines[:MAX_LINES], message=message
        )

    def _label_absent(self) -> Iterator[GoldFinding]:
        if not isinstance(self.form, LabelTask):
            return
        present = {
            label
            for instance in self.content.instances
            for label in answers_of(instance)
        }
        if absent := [label for label in self.form.labels if label not in present]:
            named = ", ".join(f"“{_short(label)}”" for label in absent)
            message = (
                f"no instance has the label {named}: a macro average over all labels counts it as 0, even of "
                'a perfect run, unless the rule set says zero = "left-out"'
            )
            yield GoldFinding(kind="label_absent", count=len(absent), message=message)

    def _tags_of_no_entity(self) -> Iterator[GoldFinding]:
        """Yield the types that no entity has, and sentences with an `I-` that goes on no entity."""
        if not isinstance(self.form, TagTask):
            return
        instances, labels = self.content.instances, self.form.labels
        present = {label for instance in instances for _, _, label in instance.gold}
        if absent := [label for label in labels if label not in present]:
            named = ", ".join(f"“{_short(label)}”" for label in absent)
            message = f"no entity has the type {named}"
            yield GoldFinding(kind="label_absent", count=len(absent), message=message)
        rows = [
            row
            for row, instance in enumerate(instances)
            if strays(self.form.parts_of(instance.record))
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
            yield self._of_instances("stray_inside", rows, message)

    def _pool_texts(self) -> dict[str, str]:
        return {
            name: canonical(record.get(self.form.pool_content, ""))
            for name, record in self.content.pool.items()
        }

    def _same_text_in_pool(self) -> Iterator[GoldFinding]:
        by_text: dict[str, list[str]] = defaultdict(list)
        for name, text in self._pool_texts().items():
            if text:
                by_text[text].append(name)
        same = [names for names in by_text.values() if len(names) > 1]
        if same:
            names = [name for group in same for name in group]
            message = (
                f"{len(names)} documents of the pool have the text of another, such as "
                f"“{_short(same[0][0])}” and “{_short(same[0][1])}”: a run that ranks the other one is wrong"
            )
            yield self._of_pool("same_text_in_pool", names, message)

    def _of_pool(self, kind: str, names: Sequence[str], message: str) -> GoldFinding:
        lines = sorted(
            self.lines.pool[name] for name in names if name in self.lines.pool
        )
        return GoldFinding(
            kind=kind, count=len(names), lines=lines[:MAX_LINES], message=message
        )

    def _query_in_pool(self) -> Iterator[GoldFinding]:
        if not isinstance(self.form, RankingTask):
            return
        lists = candidate_lists(self.form, self.content.instances)
        by_text = Counter(self._pool_texts().values())
        rows = []
        for row, instance in enumerate(self.content.instances):
            query = canonical(at_path(instance.record, self.form.query) or "")
            is_candidate = lists is not None and instance.id in lists[row]
            if (query and by_text[query]) or (
                is_candidate and instance.id not in answers_of(instance)
            ):
                rows.append(row)
        if rows:
            message = (
                f"{len(rows)} queries are candidates themselves, such as that of "
                f"“{_short(self.content.instances[rows[0]].id)}”: a search finds them first"
            )
            yield self._of_instances("query_in_pool", rows, message)

    def _offset_text_mismatch(self) -> Iterator[GoldFinding]:
        """Spans beside a field that quotes the text of each, whatever the field is called."""
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
            # A list of other texts matches nowhere.
            if rows and len(rows) < len(compared):
                message = f"the offsets of {len(rows)} instances cover another text than “{name}” quotes"
                yield self._of_instances("offset_text_mismatch", rows, message)

    def _words_not_seen(self) -> Iterator[GoldFinding]:
        blind = [name for name in self.metrics if name.startswith(_LATIN_WORDS)]
        if not isinstance(self.form, TextTask) or not blind:
            return
        rows = []
        letters = seen = 0
        for row, instance in enumerate(self.content.instances):
            own, covered, tokens = _coverage(instance.gold)
            letters, seen = letters + own, seen + covered
            if covered < LEAST_COVERED * own or (own > ONE_TOKEN and tokens == 1):
                rows.append(row)
        if rows and seen < LEAST_COVERED * letters:
            message = (
                f"the words of {', '.join(blind)} cover {seen} of {letters} letters of the references, less "
                f"than half in {len(rows)} of {len(self.content.instances)} instances"
            )
            yield self._of_instances("words_not_seen", rows, message)


def _quotes_match(instance: Instance, name: str, text_field: str) -> bool | None:
    """Return False if a span covers another text than the field quotes; None if the field quotes none."""
    quotes, text = instance.record.get(name), str(at_path(instance.record, text_field))
    if not isinstance(quotes, list) or not quotes or len(quotes) != len(instance.gold):
        return None
    covered = [text[start:end] for start, end, _ in instance.gold]
    return sorted(map(str, quotes)) == sorted(covered)


def _clsumm_offsets(split: Split) -> Iterator[GoldFinding]:
    """Citances of CL-Summ whose offsets name other sentences than their text quotes."""
    topics = split.content if isinstance(split.content, list) else []
    odd = [
        citance
        for topic in topics
        if isinstance(topic, Topic)
        for file in topic.files
        for citance in file.citances
        if not any(sid.startswith("piece ") for sid in citance.texts)
        and set(citance.texts) != set(citance.sentences)
    ]
    if odd:
        first = odd[0]
        message = (
            f"the offsets of {len(odd)} citances name other sentences than their text quotes, such as "
            f"{', '.join(first.sentences)} beside {', '.join(first.texts)} in {first.topic}"
        )
        yield GoldFinding(
            kind="offset_text_mismatch",
            count=len(odd),
            lines=[citance.line for citance in odd][:MAX_LINES],
            message=message,
        )


def _coverage(texts: Iterable[str]) -> tuple[int, int, int]:
    """Return the letters of the texts, those within tokens of ROUGE, and the tokens."""
    letters = seen = tokens = 0
    for text in texts:
        letters += sum(unicodedata.category(char)[0] in "LMN" for char in text)
        found = _TOKENS_OF_ROUGE.findall(text.lower())
        seen += sum(map(len, found))
        tokens += len(found)
    return letters, seen, tokens


def canonical(value: Any) -> str:
    """Return a text without differences of case, white space and letter forms."""
    text = "\n".join(value) if isinstance(value, list) else str(value)
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _lines_of(form: InstanceTask, files: Sequence[InputFile]) -> _Lines:
    lines = _Lines({}, {})
    for file in files:
        is_pool = bool(form.pool_file) and file.base == form.pool_file
        if not is_pool and not form.is_instances_file(file.name):
            continue
        key, found = (
            (form.pool_id, lines.pool) if is_pool else (form.id, lines.instances)
        )
        kind = file.suffix.removeprefix(".")
        records = (
            table_records(file, form.pool_form(kind), Problems())
            if is_pool and kind in TABLES
            else form.records(file, Problems())
            if not is_pool
            else read_records(file, Problems())
        )
        for record in records:
            if record.line is not None and (name := record_id(record.value, key)):
                found.setdefault(name, record.line)
    return lines


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"
