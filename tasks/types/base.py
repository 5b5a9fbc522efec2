"""What a task type declares, and the plain values that pass between its parts."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any

from tasks.types.files import (
    READING_VERSION,
    Files,
    InputFile,
    reading_of,
    shown_names,
)
from tasks.types.jsonlines import Record, is_records_file, read_records, well_formed
from tasks.types.problems import InputRefused, Problem, Problems, refuse
from tasks.types.references import MetricRef
from tasks.types.run_forms import RunForm, TrecForm
from tasks.types.text import nfc
from tasks.types.tokenizers import TOKENIZERS

if TYPE_CHECKING:
    from tasks.types.columns import Classes


#: What checks an upload and holds no gold: JSON values only, so that it can be kept beside the gold.
Index = dict[str, Any]
Options = Mapping[str, str]

#: The rules as they should be, and those of the paper or program that published the task; of a task with
#: several programs, ``official-YEAR`` for each.
CORRECTED, OFFICIAL = "corrected", "official"


def is_official(rules: str) -> bool:
    """Whether a rule set is that of a paper or program, and stays as that is."""
    return rules.startswith(OFFICIAL)


#: What rule sets were called before 0.2.0.
_OLD_RULES = {"fair": CORRECTED, "default": CORRECTED, "as-published": OFFICIAL}


class UnknownTaskType(LookupError):
    """No task type has this name; the message lists those that exist."""


class OptionRefused(ValueError):
    """An option that the task type does not know, or a value that it cannot take."""


ABOVE, BELOW = 1, -1


@dataclass(frozen=True)
class ScatterPair:
    """``finds`` is how systems lie to the diagonal by a paper, `ABOVE` or `BELOW` it; 0 where none says."""

    across: str
    up: str
    finds: int = 0


@dataclass(frozen=True)
class Option:
    """A setting of a task type; whatever can change a number is part of its signature."""

    name: str
    default: str
    summary: str
    choices: tuple[str, ...] = ()
    #: How a value may begin that older versions wrote, and how it is written today.
    former: Mapping[str, str] = field(default_factory=dict)
    #: Whether a value may be the path of a file; in a season file one that stands below its folder.
    may_be_file: bool = False
    #: Whether the metrics that are given it have no value where it is empty.
    is_needed: bool = False
    #: Whether it chooses among what gold holds; public inputs hold what was chosen alone.
    is_of_gold: bool = False
    #: What a task that a site creates has where nothing is said; tasks that are there keep what they have.
    for_new_tasks: str = ""
    #: A folder that a site may have among its models, and what such a task has where it is there: the folder
    #: itself, or this value.
    of_site: tuple[str, str] = ("", "")

    @classmethod
    def switch(cls, name: str, summary: str) -> Option:
        """One that is `yes` or, where it is not given, `no`."""
        return cls(name=name, default="no", summary=summary, choices=("no", "yes"))

    def value_of(self, options: Options) -> str:
        """What is given for it, as it is written today, or its default."""
        value = options.get(self.name, self.default)
        for before, now in self.former.items():
            if value.startswith(before):
                return now + value.removeprefix(before)
        return value


#: The value of `engine` under which a package computes in place of this program.
PACKAGE = "package"
ENGINE = Option(
    name="engine",
    default="own",
    summary="What computes ROUGE and BERTScore: this program, or rouge-score and bert-score (same numbers).",
    choices=("own", PACKAGE),
)
#: The option by which a built-in task names what finds the words of its texts; a declared task says it in a
#: rule set.
OWN_TOKENIZER = "own"
TOKENIZER = Option(
    name="tokenizer",
    default=OWN_TOKENIZER,
    summary="What finds the words that measures of texts count, outside of the official rules: the measure's "
    "own, or a tokenizer of sacreBLEU.",
    choices=(OWN_TOKENIZER, *TOKENIZERS),
)


#: The option by which measures are computed at further cut-offs, in types that have it.
CUTOFFS = "k"
MAX_CUTS = 10
#: The option that lists the categories of findings that are warnings although they would refuse a run.
ACCEPT = "accept"


def cutoffs(
    options: Options, longest: int, besides: Sequence[int] = ()
) -> tuple[int, ...]:
    """What the option says, in order and without those that there are ``besides``, of which there are more
    where it says nothing. Raises OptionRefused.
    """
    said = options.get(CUTOFFS, "")
    try:
        cuts = [int(text) for text in said.split(",") if text.strip()]
    except ValueError:
        cuts = [0]
    if (
        min(cuts, default=int(not besides)) < 1
        or max(cuts, default=1) > longest
        or len(set(cuts)) > MAX_CUTS
    ):
        expected = f"at most {MAX_CUTS} whole numbers from 1 to {longest}, such as 5,20"
        raise OptionRefused(f"option {CUTOFFS}={said}: expected {expected}")
    return tuple(sorted(set(cuts) - set(besides)))


#: An option of every type, kept only where it is given.
UNIT = Option(
    name="unit",
    default="",
    summary="A field of gold instances, or a dimension: those with equal values are resampled together.",
)


#: The names of the instances of a file's records; None for a record that is no instance.
InstanceNames = Callable[[InputFile, Sequence[Record]], Iterable[str | None]]


def ids_or_places(file: InputFile, records: Sequence[Record]) -> Iterable[str | None]:
    return (record.id or str(record.item) for record in records)


def ids_alone(file: InputFile, records: Sequence[Record]) -> Iterable[str | None]:
    return (record.id for record in records)


def unit_by_instance(
    files: Files, field: str, names_of: InstanceNames
) -> dict[str, str]:
    """The field's value of each instance, from the records of the gold. A path with dots reaches into
    objects. Raises InputRefused with every instance that has no value.
    """
    problems = Problems()
    values: dict[str, str] = {}
    for file in files:
        records = list(read_records(file, [])) if is_records_file(file.name) else []
        for name, record in zip(names_of(file, records), records, strict=True):
            if name is None:
                continue
            value: object = record.value
            for key in field.split("."):
                value = value.get(key) if isinstance(value, Mapping) else None
            if isinstance(value, (str, int)) and str(value).strip():
                values[well_formed(name)] = well_formed(str(value))
            else:
                fields = ", ".join(sorted(map(str, record.value)))
                message = f"no “{field}”, by which instances are resampled together (option unit)"
                problems.append(
                    record.problem(message, f"a text or number there; found {fields}")
                )
    refuse(problems)
    if not values:
        expected = "gold in JSON lines with that field, or the name of a dimension"
        raise InputRefused(
            [
                Problem(
                    message=f"no instance has “{field}” (option unit)",
                    expected=expected,
                )
            ]
        )
    return values


def clusters_of(
    names: Sequence[str] | None,
    units: Sequence[str] | Classes,
    features: Mapping[str, Sequence[tuple[str, ...]]],
    field: str,
    values: Mapping[str, str],
) -> list[str]:
    """The cluster of each row that the field makes: the values of instances, or a dimension's classes. Raises
    InputRefused where the instances of one unit are of several.
    """
    if values:
        assert names is not None, "rows of instances have their names"
        clusters = [values.get(name, name) for name in names]
    else:
        clusters = [
            labels[0] if len(labels) == 1 else "" for labels in features.get(field, [])
        ]
        if not clusters or "" in clusters:
            message = f"not every instance has one class of “{field}” (option unit)"
            expected = "a dimension with one class for each instance"
            raise InputRefused([Problem(message=message, expected=expected)])
    cluster_of: dict[str, str] = {}
    for row, cluster in zip(units, clusters, strict=True):
        unit = row if isinstance(row, str) else row[0]
        if cluster_of.setdefault(unit, cluster) != cluster:
            message = f"“{unit}” is of “{cluster_of[unit]}” and of “{cluster}” by “{field}” (option unit)"
            raise InputRefused(
                [Problem(message=message, expected="one value for all that it has")]
            )
    return clusters


#: The rule by which digests of gold are computed now. By rule 1 some digests depended on the order of a
#: pool's lines and on the ends of lines; by rule 2 no digest does.
DIGEST_RULE = 2


@dataclass(frozen=True, kw_only=True)
class Split:
    """The gold of one split. ``content`` is the task type's own; ``index`` and ``public_files`` are what
    follows from it without gold. ``digest`` is the SHA-256 of the canonical content: the same gold has the
    same digest however it is packed, and in whatever order its lines stand. ``earlier_digests`` are the
    digests by earlier rules, where they differ.
    """

    content: Any
    instances: int
    index: Index
    digest: str
    earlier_digests: Mapping[int, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    #: By instance the value of the field that the option ``unit`` names, where it is one of the gold.
    unit_values: Mapping[str, str] = field(default_factory=dict)
    #: The version by which the gold and the runs on it are read.
    reading: int = READING_VERSION
    #: How many rows, objects or lines the files of the instances have; None where nobody counted.
    rows: int | None = None

    def digest_by(self, rule: int) -> str:
        return self.earlier_digests.get(rule, self.digest)

    @property
    def digests(self) -> dict[int, str]:
        """The digest by each rule."""
        return {rule: self.digest_by(rule) for rule in range(1, DIGEST_RULE + 1)}


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """Gold and answers side by side, as one rule set pairs them: row i of every metric's matrix.

    ``gold[i]`` is None where an answer belongs to no gold, ``answers[i]`` is None where gold has no answer.
    ``units`` names what is resampled (topic, paper, instance), unless ``clusters`` does, as the option
    ``unit`` asks; averages are over units still. ``features`` gives each row's classes by dimension.
    ``names`` says by which name participants know each row's instance, and nothing of its gold; several rows
    may be of one instance. ``answered`` says which rows a run answers, where ``answers`` has something for
    others too. Where rows may be millions, gold, answers, units and classes are the columns of
    ``tasks.types.columns`` and ``tasks.types.ranking.lists``: they read like lists, at a few bytes a row.
    """

    gold: Sequence[Any]
    answers: Sequence[Any]
    units: Sequence[str] | Classes
    features: Mapping[str, Sequence[tuple[str, ...]]]
    notes: Mapping[str, int] = field(default_factory=dict)
    names: Sequence[str] | None = None
    clusters: Sequence[str] | None = None
    answered: Sequence[bool] | None = None
    #: What a run says of the first of its candidates, by the place of the instance in the index.
    scores: Mapping[int, Sequence[float]] = field(default_factory=dict)
    #: How many judgements of the run are still to be made; on a site it waits for them.
    pending: int = 0

    def __post_init__(self) -> None:
        columns = (
            self.gold,
            self.answers,
            self.units,
            self.names,
            self.clusters,
            self.answered,
        )
        lengths = {
            len(column)
            for column in (*columns, *self.features.values())
            if column is not None
        }
        assert len(lengths) == 1, f"rows do not line up: {lengths}"


def filled_texts(run: Mapping[str, Any], index: Index) -> Iterable[bool]:
    """Of a run by instance: whether an answer is more than an empty text. An empty list or object, such as no
    evidence, is an answer, and so is an abstention that a task allows.
    """
    return (
        not isinstance(answer, str) or bool(answer.strip()) for answer in run.values()
    )


def as_written(
    files: Files, split: Split, pairs: Pairs, options: Options
) -> Iterator[ShownInstance]:
    """For a task type that does not say how: gold and answers as Python writes them."""
    for name, rows in rows_by_name(pairs.names).items():
        sides = ([side[row] for row in rows] for side in (pairs.gold, pairs.answers))
        gold, answer = (
            joined([str(value) for value in side if value is not None])
            for side in sides
        )
        yield ShownInstance(name=name, gold=gold, answer=answer)


#: How the slugs of declared tasks begin, and the files that their numbers rest on.
DECLARED, REFERENCED = "declared:", ("task.toml", "measures.py")


@dataclass(frozen=True, kw_only=True)
class Declared:
    """What a folder says of its task besides what every type has. ``name`` is its slug there; ``digest`` is
    that of what numbers rest on. ``files`` are the folder's texts by their names; ``translations`` are names
    that people read, by language.
    """

    name: str
    form: str
    digest: str
    files: Mapping[str, str]
    translations: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    #: As `tasks.types.baselines` has them, which rests on this module.
    baselines: tuple[Any, ...] = ()
    #: Whether everybody may have its sample, the gold too.
    public_sample: bool = False
    #: The text of its `measures.py`, where that does not ship with Citeboard.
    own_measures: str = ""


@dataclass(frozen=True, kw_only=True)
class TaskType:
    """A kind of task: how its gold and runs are read and paired, and which metrics and breakdowns count.
    ``rules`` maps each rule set to its metrics; of both the first ranks.
    """

    slug: str
    title: str
    rules: Mapping[str, tuple[MetricRef, ...]]
    dimensions: tuple[str, ...]
    read_gold: Callable[[Files, Options], Split]
    read_inputs: Callable[[Files, Options], Index]
    read_run: Callable[[Files, Index, Options], tuple[Any, list[Problem]]]
    pair: Callable[[Split, Any, str, Options], Pairs]
    public_files: Callable[[Files, Options], Iterator[tuple[str, bytes]]]
    #: Which of the files under a gold PATH belong to the gold and are kept.
    is_gold_file: Callable[[str], bool]
    #: The dimensions whose classes are the gold's own labels.
    label_dimensions: tuple[str, ...] = ()
    #: The dimensions whose classes are bands of the number that runs predict.
    gold_bands: tuple[str, ...] = ()
    #: The dimensions whose classes follow from what participants are shown, and from no answer.
    shown_dimensions: tuple[str, ...] = ()
    #: The dimension of which class charts show the classes first; the first that has several, unless named.
    leading_dimension: str = ""
    #: Of each answer of a run to an instance of the split, whether anything is in it.
    filled: Callable[[Any, Index], Iterable[bool]] = filled_texts
    #: What pages call one of the units of ``Pairs``, where the option ``unit`` names no field.
    unit: str = "instance"
    #: The names of the instances of its gold's records, where they are not their ids or places.
    instance_names: InstanceNames = ids_or_places
    #: Its own; every type has ``UNIT`` besides.
    options: tuple[Option, ...] = ()
    #: Whether files hold anything in the form of its runs, be it wrong; where it is not said, whether they
    #: can be scored decides.
    accepts: Callable[[Files], bool] | None = None
    #: By what a run is told from other files; a file of another type's form is then called by its name.
    run_form: RunForm | None = None
    #: The metrics that a board shows before others are asked for, in order; all where none are named.
    main_metrics: tuple[str, ...] = ()
    #: Tuples of built-in baselines whose answers are runs for it, by reference.
    baselines: tuple[str, ...] = ()
    #: How people read names of metrics and dimensions that do not read well as they are. Classes are named in
    #: the features of ``pair`` as people read them.
    display_names: Mapping[str, str] = field(default_factory=dict)
    #: Where runs are texts that people can judge.
    human_evaluation: HumanEvaluation | None = None
    #: Whether its runs are responses that are split into claims, which people judge.
    has_claims: bool = False
    #: Whether its scores follow from judgements of each run, for which a run waits on a site.
    is_judged: bool = False
    #: The metrics that the options add to a rule set, as where they name other cut-offs.
    further_metrics: Callable[[str, Options], tuple[MetricRef, ...]] | None = None
    #: The metrics of its rule sets that there are not under the options.
    absent_metrics: Callable[[Options], frozenset[str]] = lambda _: frozenset()
    #: Pairs of metrics that a board draws against each other.
    scatter_pairs: tuple[ScatterPair, ...] = ()
    #: Scores that nobody computes here and that teams may report of their runs.
    team_scores: tuple[str, ...] = ()
    #: Single instances as people read them, from the files of the gold and a run beside it.
    show_instances: Callable[
        [Files, Split, Pairs, Options], Iterator[ShownInstance]
    ] = as_written
    #: How a page draws one of them; as plain texts where nothing is said.
    drawn_as: str = ""
    #: What gold consists of, by data set, as JSON: a name, what follows from the ``inputs`` alone, and what
    #: follows from the ``gold``.
    statistics: Callable[[Split], list[dict[str, Any]]] | None = None
    #: Where its data are topics and documents.
    trec: TrecForm | None = None
    #: Of each instance of the gold what is shown of it and what is secret, as JSON, by whatever name; by it
    #: the same instance is known in other gold. Where a type does not say, its gold is one instance.
    contents: Callable[[Files, Split], Iterable[tuple[Any, Any]]] | None = None
    #: The same of what else the files of its gold hold and it scores nothing by.
    also_holds: Callable[[Files], Iterable[tuple[Any, Any]]] | None = None
    #: What of its gold no answer can name: labels of no list, what stands nowhere in what is given out.
    unreachable: Callable[[Files, Split], Iterable[str]] | None = None
    #: The metric that ranks in rule sets that have it, as the task's organisers chose; else the first does.
    rank_by: str = ""
    #: Where a folder declares it; its slug is then `declared:NAME@` and the beginning of its digest.
    declared: Declared | None = None

    @classmethod
    def of(cls, *parts: Any, **facts: Any) -> TaskType:
        """The type whose readers, pairs and views are those of its parts: of a form's task, or of modules. A
        part says them under the names of these fields, constants in capitals; ``facts`` go before.
        """
        said = {
            field.name: getattr(part, name)
            for part in parts
            for field in fields(cls)
            for name in (field.name, field.name.upper())
            if hasattr(part, name)
        }
        return cls(**{**said, **facts})

    @property
    def reference(self) -> str:
        """By which another process finds it: its slug, or of a declared task the files that it rests on."""
        if self.declared is None:
            return self.slug
        files = {
            name: text
            for name, text in self.declared.files.items()
            if name in REFERENCED
        }
        return json.dumps(files, ensure_ascii=False, sort_keys=True)

    @property
    def own_measures(self) -> str:
        return self.declared.own_measures if self.declared else ""

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of every rule set's metrics, in the order of the rule sets."""
        return tuple(
            dict.fromkeys(
                metric.name for metrics in self.rules.values() for metric in metrics
            )
        )

    @property
    def default_rules(self) -> str:
        return next(iter(self.rules))

    def metrics_of(self, rules: str, options: Options) -> tuple[MetricRef, ...]:
        """The metrics of a rule set and those that the options add; the first ranks. Raises OptionRefused."""
        further = self.further_metrics(rules, options) if self.further_metrics else ()
        absent = self.absent_metrics(options)
        own = (metric for metric in self.rules[rules] if metric.name not in absent)
        return tuple(
            sorted((*own, *further), key=lambda metric: metric.name != self.rank_by)
        )

    def shown_as(self, rank_by: str, measures: Sequence[str]) -> TaskType:
        """The same type where another metric ranks, and boards show other metrics first."""
        if not rank_by and not measures:
            return self
        return replace(
            self, rank_by=rank_by, main_metrics=tuple(measures) or self.main_metrics
        )

    def without_value(self, rules: str, options: Options) -> dict[str, str]:
        """The metrics of a rule set that can have no value, each with the option that it lacks. What is not
        given has its default; a rule set that there is no more has none.
        """
        if rules not in self.rules:
            return {}
        values = self._values(options)
        lacking = [
            option.name
            for option in self.options
            if option.is_needed and not values[option.name]
        ]
        metrics = self.metrics_of(rules, values)
        return {
            metric.name: name
            for metric in metrics
            for name in lacking
            if name in metric.options
        }

    def ranking_metric(self, rules: str, options: Options) -> str:
        """The name of the one that ranks; what is not given has its default."""
        return self.metrics_of(rules, self._values(options))[0].name

    def _values(self, options: Options) -> dict[str, str]:
        return {option.name: option.value_of(options) for option in self.options}

    def checked_rules(self, rules: str | None) -> str:
        """The rule set of this name, which may be one of before 0.2.0. Raises OptionRefused."""
        if rules is None:
            return self.default_rules
        name = current_rules(rules)
        if name not in self.rules:
            raise OptionRefused(
                f"{self.slug} has no rules “{rules}”; it has {', '.join(self.rules)}"
            )
        return name

    def checked_options(
        self, options: Options, *, builds: bool = True
    ) -> dict[str, str]:
        """Every option with its value, the defaults filled in. Where it ``builds`` the metrics of every rule
        set, a value that one of them cannot take is found here. Raises OptionRefused for an unknown name or
        value, and names the known ones.
        """
        checked = checked_options(self.slug, self.all_options, options)
        for name in (UNIT.name, CUTOFFS):
            if not checked.get(name, "-"):
                del checked[name]
        for rules in self.rules if builds else ():
            for metric in self.metrics_of(rules, checked):
                metric.build(rules, checked)
        return checked

    @property
    def all_options(self) -> tuple[Option, ...]:
        return (*self.options, UNIT)

    def unit_of(self, options: Options) -> str:
        """What one of the units is called."""
        return options.get(UNIT.name) or self.unit

    def gold_of(self, files: Files, options: Options) -> Split:
        """The gold as ``read_gold`` reads it, and its instances' units. Raises InputRefused, in which every
        problem names a file, or the files if it is of several.
        """
        try:
            split, name = self.read_gold(files, options), options.get(UNIT.name, "")
            split = replace(split, reading=reading_of(files))
            if split.reading > 1:
                _refuse_equal_ids(split.index)
        except InputRefused as refused:
            shown = shown_names(files)
            raise InputRefused(
                replace(problem, file=problem.file or shown)
                for problem in refused.problems
            ) from refused
        if not name or name in self.dimensions:
            return split
        members = [file for file in files if self.is_gold_file(file.name)]
        return replace(
            split, unit_values=unit_by_instance(members, name, self.instance_names)
        )

    def pairs_of(self, split: Split, run: Any, rules: str, options: Options) -> Pairs:
        """Gold and answers as ``pair`` has them, by the clusters of the options. Raises InputRefused."""
        pairs, name = self.pair(split, run, rules, options), options.get(UNIT.name, "")
        if not name:
            return pairs
        clusters = clusters_of(
            pairs.names, pairs.units, pairs.features, name, split.unit_values
        )
        return replace(pairs, clusters=clusters)


def _refuse_equal_ids(index: Index) -> None:
    """Raise InputRefused if ids of instances or candidates differ in their Unicode form alone."""
    groups = [index.get(key, ()) for key in ("instances", "passages")]
    groups += index.get("pools", ())
    groups += index.get("datasets", {}).values()
    problems = []
    for names in groups:
        if all(map(str.isascii, names)):
            continue
        forms: dict[str, str] = {}
        for name in names:
            if (other := forms.setdefault(nfc(name), name)) != name:
                message = f"the ids “{name}” and “{other}” are equal in NFC"
                problems.append(
                    Problem(message=message, expected="ids that differ in it")
                )
    refuse(problems)


def current_rules(name: str) -> str:
    """What a rule set is called now; others keep their names.

    >>> current_rules("fair"), current_rules("official-2018")
    ('corrected', 'official-2018')
    """
    return _OLD_RULES.get(name, name)


def given_options(pairs: Sequence[str]) -> dict[str, str]:
    """What a command line says as KEY=VALUE. Raises OptionRefused."""
    if wrong := [pair for pair in pairs if "=" not in pair]:
        raise OptionRefused(f"--option {wrong[0]}: expected KEY=VALUE")
    return dict(pair.split("=", 1) for pair in pairs)


def checked_options(
    owner: str, options: Sequence[Option], values: Options
) -> dict[str, str]:
    """Every option with its value, the defaults filled in; the owner is named in the refusal. Raises
    OptionRefused.
    """
    by_name = {option.name: option for option in options}
    for name, value in values.items():
        if name not in by_name:
            names = ", ".join(by_name) or "none"
            close = difflib.get_close_matches(name, by_name)
            hint = f" (did you mean {close[0]}?)" if close else ""
            raise OptionRefused(f"{owner} has no option “{name}”; it has {names}{hint}")
        if by_name[name].choices and value not in by_name[name].choices:
            raise OptionRefused(
                f"option {name}={value}: expected one of {', '.join(by_name[name].choices)}"
            )
    return {name: option.value_of(values) for name, option in by_name.items()}


#: How an instance is drawn: sentences of a paper, a ranking, texts side by side, a text with marks, labels,
#: or whatever else is right line by line.
SENTENCES, RANKING, TEXTS, MARKS = "sentences", "ranking", "texts", "marks"
LABELS, LINES, TAGS = "labels", "lines", "tags"
#: Sentences of a report with what they cite, and nuggets, each with its judgements.
REPORTS = "reports"
#: Of more instances nothing is kept to be read; and of a ranking no more than so many from the top.
MAX_SHOWN, TOP = 2_000, 10
#: How a sentence of the answer or of the gold came out. A wrong one may be like what was given, in words that
#: both have, and a missed one may be implied by it, without such words.
RIGHT, ALIKE, WRONG, IMPLIED, MISSED = "right", "alike", "wrong", "implied", "missed"
OUTCOMES = (ALIKE, WRONG, IMPLIED, MISSED, RIGHT)
#: A sentence beside one of those, which neither has.
CONTEXT = "context"


@dataclass(frozen=True, kw_only=True)
class ShownInstance:
    """Texts. ``given`` is what systems see, and says nothing of the gold; empty where there is nothing."""

    name: str
    given: str = ""
    gold: str = ""
    answer: str = ""
    #: Sentence by sentence, as far as the task type tells: the outcome and the sentence, in the order of the
    #: text with those beside them; of a ranking the cited below its first. It says the gold.
    judged: tuple[tuple[str, str], ...] = ()
    #: What the run says of its answer in numbers: scores of candidates, probabilities of labels.
    beside: tuple[tuple[str, float], ...] = ()
    #: Among how many candidates an answer chooses; 0 where there are none.
    pool: int = 0


def rows_by_name(names: Sequence[str] | None) -> dict[str, list[int]]:
    """The rows of each instance, in the order of the instances; of the first ``MAX_SHOWN``."""
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(names or ()):
        if name in rows or len(rows) < MAX_SHOWN:
            rows.setdefault(name, []).append(row)
    return rows


def joined(texts: Sequence[str]) -> str:
    """Each once, in their order, a line each."""
    return "\n".join(dict.fromkeys(text for text in texts if text))


#: Pairs of a heading and a text.
Sources = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Scale:
    """What is asked of a text, and what each of the five levels means, the lowest first."""

    question: str
    levels: tuple[str, str, str, str, str]


@dataclass(frozen=True)
class HumanEvaluation:
    """``sources`` reads the public inputs, never gold; ``texts`` takes the answers that a run was read as.
    Both go by the names of instances. ``scales`` are the task's own, by criterion; what has none is asked
    with no more than the ends named. ``references`` reads the gold texts, where texts can be judged against
    them, and ``reference_scales`` are those that hold then.
    """

    sources: Callable[[Files], Mapping[str, Sources]]
    texts: Callable[[Any], Mapping[str, str]]
    scales: Mapping[str, Scale] = field(default_factory=dict)
    references: Callable[[Files], Mapping[str, str]] | None = None
    reference_scales: Mapping[str, Scale] = field(default_factory=dict)


def printed_options(options: Mapping[str, str]) -> dict[str, str]:
    """
    >>> printed_options({"parser": "/srv/data/parses.jsonl", "entailment": "labels:/srv/l.jsonl"})
    {'parser': 'parses.jsonl', 'entailment': 'labels:l.jsonl'}
    """
    return {name: _without_folder(value) for name, value in options.items()}


def _without_folder(value: str) -> str:
    head, _, path = value.partition(":")
    # One letter before the colon is a drive.
    for before, whole in ((f"{head}:", path), ("", value)):
        for kind in (PureWindowsPath, PurePosixPath):
            if kind(whole).is_absolute() and (len(head) > 1 or not before):
                return before + kind(whole).name
    return value
