"""This module contains the class `TaskType`, which declares a task type, and the data
classes that functions of task types exchange.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any, NamedTuple

from tasks.types.files import (
    CURRENT_PARSING_RULES_VERSION,
    Files,
    InputFile,
    get_reading_version,
    join_shown_file_names,
)
from tasks.types.jsonlines import (
    JsonRecord,
    is_records_file,
    read_records,
    replace_unpaired_surrogates,
)
from tasks.types.problems import (
    InputRefused,
    Problem,
    ProblemList,
    raise_if_any_problem_is_fatal,
)
from tasks.types.references import MetricRef
from tasks.types.run_forms import RunFormatSignature, TrecExportFunctions
from tasks.types.text import normalise_to_nfc
from tasks.types.tokenizers import TOKENIZERS_BY_NAME
from tasks.types.trivial_runs import TrivialRunFiles

if TYPE_CHECKING:
    from tasks.types.columns import ClassColumn
    from tasks.types.ledger import ItemToJudge
    from tasks.types.views import InstanceViewSettings


#: An index names a split's instances and candidates and contains no gold answers.
#: An index consists of JSON values, so the database can store the index.
Index = dict[str, Any]
Options = Mapping[str, str]

#: The rule set `corrected` applies the corrected rules of scoring.
#: The rule set `official` follows the paper or program that published the task.
#: A task with several published programs names their rule sets ``official-YEAR``.
CORRECTED, OFFICIAL = "corrected", "official"


def is_official_rule_set(rules: str) -> bool:
    """Return True if the rule set follows a paper or program. A rule set that follows a
    paper or program never changes.
    """
    return rules.startswith(OFFICIAL)


#: The sign @ separates the rule set from the judge's name in `corrected@support-b`.
JUDGE_SEPARATOR = "@"


def remove_judge_from_rule_set(rules: str) -> str:
    """Return the name of the rule set without the part from @ on, which names a judge.

    >>> remove_judge_from_rule_set("corrected@support-b"), remove_judge_from_rule_set("corrected")
    ('corrected', 'corrected')
    """
    return rules.partition(JUDGE_SEPARATOR)[0]


#: `_NEW_NAME_OF_OLD_RULES` maps names of rule sets before version 0.2.0 to present names.
_NEW_NAME_OF_OLD_RULES = {
    "fair": CORRECTED,
    "default": CORRECTED,
    "as-published": OFFICIAL,
}


class UnknownTaskType(LookupError):
    """An error for a task type name that does not exist. The message lists the existing
    task types.
    """


class OptionRefused(ValueError):
    """An error for an option that the task type does not have, or for an invalid value
    of an option.
    """


ABOVE_DIAGONAL, BELOW_DIAGONAL = 1, -1


@dataclass(frozen=True)
class ScatterPair:
    """Two metrics whose scatter plot a board shows.

    ``across`` is the metric of the plot's horizontal axis, and ``up`` is the metric of
    its vertical axis. ``finds`` is `ABOVE_DIAGONAL` or `BELOW_DIAGONAL` if a paper reports that systems
    lie above or below the diagonal of this plot, otherwise 0.
    """

    across: str
    up: str
    finds: int = 0


@dataclass(frozen=True)
class Option:
    """A setting that organisers choose for a task. Options that can change a score are
    part of the metric's signature.
    """

    name: str
    default: str
    summary: str
    choices: tuple[str, ...] = ()
    #: `former` maps old prefixes of the option's values to the present prefixes.
    former: Mapping[str, str] = field(default_factory=dict)
    #: `may_be_file` is True if the option's value may be the path of a file.
    #: A season file may only name files below the season file's own folder.
    may_be_file: bool = False
    #: `asks` is the kind of judgements that the value `store:JUDGE` takes from the ledger.
    #: If `asks` is empty, the option names no judge of the site's ledger.
    asks: str = ""
    #: `is_needed` is True if metrics with the option need a value that is not empty.
    is_needed: bool = False
    #: `is_of_gold` is True if the option selects a part of the gold (true answers).
    #: If `is_of_gold` is True, the public inputs contain only the selected part.
    is_of_gold: bool = False
    #: New tasks that do not set the option get the value in `for_new_tasks`.
    #: Existing tasks keep their stored value of the option.
    for_new_tasks: str = ""
    #: `of_site` is a pair of a folder's name in the site's models folder and a value.
    #: If the folder of `of_site` exists, the option has the value in new tasks.
    #: An empty value in `of_site` means the path of the folder.
    of_site: tuple[str, str] = ("", "")

    @classmethod
    def yes_or_no(cls, name: str, summary: str) -> Option:
        """Return an option with the values `yes` and `no`, by default `no`."""
        return cls(name=name, default="no", summary=summary, choices=("no", "yes"))

    def get_value_or_default(self, options: Options) -> str:
        """Return the option's value or its default. An old prefix of the value, from an
        earlier version of Citeboard, is replaced by the present prefix.
        """
        value = options.get(self.name, self.default)
        for before, now in self.former.items():
            if value.startswith(before):
                return now + value.removeprefix(before)
        return value


#: The value `package` makes the option `engine` use a third-party package.
PACKAGE_ENGINE = "package"
ENGINE = Option(
    name="engine",
    default="own",
    summary="What computes ROUGE and BERTScore: this program, or rouge-score and bert-score (same numbers).",
    choices=("own", PACKAGE_ENGINE),
)
#: The value `own` makes `tokenizer` select each measure's default tokenizer.
#: Only built-in tasks have the option `tokenizer`.
#: A declared task, which a folder defines, sets the tokenizer in a rule set.
DEFAULT_TOKENIZER_VALUE = "own"
TOKENIZER = Option(
    name="tokenizer",
    default=DEFAULT_TOKENIZER_VALUE,
    summary="What finds the words that measures of texts count, outside of the official rules: the measure's "
    "own, or a tokenizer of sacreBLEU.",
    choices=(DEFAULT_TOKENIZER_VALUE, *TOKENIZERS_BY_NAME),
)


#: `CUTOFFS_OPTION_NAME` is the name of the option for additional cut-offs.
CUTOFFS_OPTION_NAME = "k"
MAX_CUTOFFS = 10
#: The option `accept` lists categories of faults of a run that are only warnings.
ACCEPT_OPTION_NAME = "accept"


def parse_cutoffs(
    options: Options, longest: int, besides: Sequence[int] = ()
) -> tuple[int, ...]:
    """Return the cut-offs (numbers of first candidates) that the options list, in
    ascending order and without the cut-offs in ``besides``.

    The options may list no cut-offs if ``besides`` contains cut-offs. Raises
    OptionRefused.
    """
    said = options.get(CUTOFFS_OPTION_NAME, "")
    try:
        cuts = [int(text) for text in said.split(",") if text.strip()]
    except ValueError:
        cuts = [0]
    if (
        min(cuts, default=int(not besides)) < 1
        or max(cuts, default=1) > longest
        or len(set(cuts)) > MAX_CUTOFFS
    ):
        expected = (
            f"at most {MAX_CUTOFFS} whole numbers from 1 to {longest}, such as 5,20"
        )
        raise OptionRefused(f"option {CUTOFFS_OPTION_NAME}={said}: expected {expected}")
    return tuple(sorted(set(cuts) - set(besides)))


#: Every task type has the option `unit`.
#: A task stores the option `unit` only if the organisers set a value.
UNIT = Option(
    name="unit",
    default="",
    summary="A field of gold instances, or a dimension: those with equal values are resampled together.",
)


#: `InstanceNamesFunction` returns the instance name of each record in a file.
#: `InstanceNamesFunction` returns None for a record that is not an instance.
InstanceNamesFunction = Callable[
    [InputFile, Sequence[JsonRecord]], Iterable[str | None]
]


def iterate_ids_or_positions(
    file: InputFile, records: Sequence[JsonRecord]
) -> Iterable[str | None]:
    return (record.id or str(record.item) for record in records)


def iterate_record_ids(
    file: InputFile, records: Sequence[JsonRecord]
) -> Iterable[str | None]:
    return (record.id for record in records)


def read_unit_of_each_instance(
    files: Files, field: str, names_of: InstanceNamesFunction
) -> dict[str, str]:
    """Return the value of a gold field for each instance.

    A dotted path as the field's name selects a field of a nested object. Raises
    InputRefused, whose problems list every instance without a value.
    """
    problems = ProblemList()
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
                values[replace_unpaired_surrogates(name)] = replace_unpaired_surrogates(
                    str(value)
                )
            else:
                fields = ", ".join(sorted(map(str, record.value)))
                message = f"no “{field}”, by which instances are resampled together (option unit)"
                problems.append(
                    record.problem(message, f"a text or number there; found {fields}")
                )
    raise_if_any_problem_is_fatal(problems)
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


def assign_resampling_clusters(
    names: Sequence[str] | None,
    units: Sequence[str] | ClassColumn,
    features: Mapping[str, Sequence[tuple[str, ...]]],
    field: str,
    values: Mapping[str, str],
) -> list[str]:
    """Return the resampling cluster of each row. The bootstrap draws all units of a
    cluster together. The cluster is the row's value of the gold field, or the row's
    class in the dimension, that the option ``unit`` names.

    Raises InputRefused if instances of the same unit belong to different clusters.
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


#: `CURRENT_DIGEST_RULE` is the present version of the rule for digests of gold.
#: Under digest rule 1, some digests depended on line ends and candidate order.
#: Under digest rule 2, no digest depends on line ends or candidate order.
CURRENT_DIGEST_RULE = 2


@dataclass(frozen=True, kw_only=True)
class Split:
    """The gold (reference answers) of one split of a data set.

    ``content`` is an object whose class depends on the task type. ``index`` and
    ``public_files`` are derived from ``content`` and contain no gold. ``digest`` is the
    SHA-256 of the gold's canonical content. The digest of gold depends neither on how
    files are packed nor on the order of lines. ``earlier_digests`` contains the digests
    of the gold under earlier rules, if different from ``digest``.
    """

    content: Any
    instances: int
    index: Index
    digest: str
    earlier_digests: Mapping[int, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    #: `unit_values` contains each instance's value of the field that `unit` names.
    #: `unit_values` is empty if the option `unit` does not name a field of the gold.
    unit_values: Mapping[str, str] = field(default_factory=dict)
    #: `reading` is the version number of the rules for parsing gold and runs.
    reading: int = CURRENT_PARSING_RULES_VERSION
    #: `rows` counts rows, objects or lines in the files, or is None if not counted.
    rows: int | None = None

    def get_digest_under_rule(self, rule: int) -> str:
        return self.earlier_digests.get(rule, self.digest)

    @property
    def digests_by_rule(self) -> dict[int, str]:
        """Return the digest of the gold under each digest rule."""
        return {
            rule: self.get_digest_under_rule(rule)
            for rule in range(1, CURRENT_DIGEST_RULE + 1)
        }


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """Gold and answers of a run as parallel lists. Item i of each list belongs to row i
    of the score matrix of every metric.

    ``gold[i]`` is None for an answer without gold, and ``answers[i]`` is None for gold
    without an answer. ``units`` are the resampling units (topic, paper, instance). If
    the option ``unit`` is set, ``clusters`` are resampled instead, but averages are
    still over ``units``. ``features`` maps each dimension to the classes of each row.
    ``names`` contains the public name of each row's instance, which does not reveal
    gold. Several rows may belong to one instance. If ``answers`` also contains values
    for rows without an answer, ``answered`` is True for the rows that the run answers.
    For millions of rows, gold, answers, units and classes are columns from
    ``tasks.types.columns`` or ``tasks.types.ranking.lists``. Columns for millions of
    rows behave like lists and use a few bytes per row.
    """

    gold: Sequence[Any]
    answers: Sequence[Any]
    units: Sequence[str] | ClassColumn
    features: Mapping[str, Sequence[tuple[str, ...]]]
    notes: Mapping[str, int] = field(default_factory=dict)
    names: Sequence[str] | None = None
    clusters: Sequence[str] | None = None
    answered: Sequence[bool] | None = None
    #: `scores` contains the scores that the run gives to its first candidates.
    #: Each key of `scores` is the position of an instance in the index.
    scores: Mapping[int, Sequence[float]] = field(default_factory=dict)
    #: `pending` counts judgements that the run still needs.
    #: `pending` does not count items that a judge of the site's ledger is asked about.
    #: A site scores a run when no judgements of the run are missing.
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


def iterate_is_text_nonempty(run: Mapping[str, Any], index: Index) -> Iterable[bool]:
    """For each instance of a run, return True if the answer is not an empty text.

    An empty list or object, such as an empty list of evidence, is an answer. An
    abstention counts as an answer if the task allows abstentions.
    """
    return (
        not isinstance(answer, str) or bool(answer.strip()) for answer in run.values()
    )


def show_instances_as_strings(
    files: Files, split: Split, pairs: Pairs, options: Options
) -> Iterator[ShownInstance]:
    """Yield instances with gold and answers converted by `str`, for task types that
    have no function for showing instances.
    """
    for name, rows in group_row_numbers_by_instance(pairs.names).items():
        sides = ([side[row] for row in rows] for side in (pairs.gold, pairs.answers))
        gold, answer = (
            join_distinct_texts([str(value) for value in side if value is not None])
            for side in sides
        )
        yield ShownInstance(name=name, gold=gold, answer=answer)


#: Names of the official program's metrics start with `official_` in files and the API.
PROGRAM_METRIC_PREFIX = "official_"
#: The slugs of declared tasks start with `declared:`.
#: `SCORING_FILE_NAMES` lists the files of a task folder that determine scores.
DECLARED_SLUG_PREFIX = "declared:"
SCORING_FILE_NAMES = ("task.toml", "measures.py", "program.json")


@dataclass(frozen=True, kw_only=True)
class DeclaredTaskProperties:
    """The properties of a declared task, which a folder with a file `task.toml`
    defines.

    ``name`` is the task's slug in its folder. ``digest`` is the digest of the files
    that determine scores. ``files`` maps file names to the texts of the folder's files.
    ``translations`` maps languages to the display names of the task.
    """

    name: str
    form: str
    digest: str
    files: Mapping[str, str]
    translations: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    #: `baselines` contains objects of the class `tasks.types.baselines.Baseline`.
    baselines: tuple[Any, ...] = ()
    #: `public_sample` is True if the sample of the task, including its gold, is public.
    public_sample: bool = False
    #: `own_measures` is the text of the file `measures.py`, or empty without this file.
    own_measures: str = ""
    #: `program` is the text of the official program.
    #: `program_rules` names the rule sets that have metrics from the official program.
    program: str = ""
    program_rules: frozenset[str] = frozenset()
    #: `view` is the layout of instances on pages, which does not change scores.
    view: InstanceViewSettings
    #: `toml_given_out` is the text of `task.toml` without settings of pages.
    #: Participants, archives and other processes get `toml_given_out`.
    #: `toml_given_out` has no page settings, as old releases refuse unknown keys.
    toml_given_out: str

    @property
    def scoring_files(self) -> dict[str, str]:
        """Return the texts of `task.toml`, `measures.py` and `program.json` by file
        name, without page settings in `task.toml`.
        """
        files = {**self.files, SCORING_FILE_NAMES[0]: self.toml_given_out}
        return {name: files[name] for name in SCORING_FILE_NAMES if name in files}


#: A public file is a pair of a file name and the content that participants get.
PublicFile = tuple[str, bytes]
#: A sorter sorts names of candidates, and its second argument is a salt.
#: Equal lists of candidates get different orders if their salts differ.
CandidateSorter = Callable[[Iterable[str], str], list[str]]


@dataclass(frozen=True, kw_only=True)
class CandidateReordering:
    """Two functions that change the order of candidates. ``renumbered`` returns gold
    with the candidate numbers of another index. ``reordered_files`` sorts the
    candidates in public files.
    """

    renumbered: Callable[[Split, Index], Split]
    reordered_files: Callable[
        [Iterable[PublicFile], CandidateSorter], Iterator[PublicFile]
    ]


@dataclass(frozen=True, kw_only=True)
class TaskType:
    """A kind of task with functions that read and pair gold and runs, with metrics, and
    with dimensions of breakdowns.

    ``rules`` maps each rule set to its metrics. The first rule set is the default, and
    boards rank systems by the first metric of a rule set.
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
    #: `is_gold_file` returns True if the path below the gold folder names a gold file.
    is_gold_file: Callable[[str], bool]
    #: `label_dimensions` lists the dimensions whose classes are gold labels.
    label_dimensions: tuple[str, ...] = ()
    #: Classes of dimensions in `gold_bands` are intervals of a predicted number.
    gold_bands: tuple[str, ...] = ()
    #: Classes of dimensions in `shown_dimensions` depend on the public inputs alone.
    shown_dimensions: tuple[str, ...] = ()
    #: Class charts show `leading_dimension` first.
    #: By default, class charts show the first dimension with several classes.
    leading_dimension: str = ""
    #: `filled` returns for each answer of a run True if the answer is not empty.
    filled: Callable[[Any, Index], Iterable[bool]] = iterate_is_text_nonempty
    #: `unit` is the name of the resampling unit if the option ``unit`` is not set.
    unit: str = "instance"
    #: `instance_names` returns the instance names of gold records.
    #: Task types need `instance_names` if ids and positions do not name instances.
    instance_names: InstanceNamesFunction = iterate_ids_or_positions
    #: `options` lists the options of the task type, in addition to ``UNIT``.
    options: tuple[Option, ...] = ()
    #: `accepts` returns True for files in the form of a run, even a faulty run.
    #: If `accepts` is None, every upload that can be scored is accepted.
    accepts: Callable[[Files], bool] | None = None
    #: A run form describes the features that distinguish a run from other files.
    #: If an upload has the form of another task type, the message names that type.
    run_form: RunFormatSignature | None = None
    #: A board shows `main_metrics` by default, or all metrics if the list is empty.
    main_metrics: tuple[str, ...] = ()
    #: `baselines` lists references `module:NAME` to tuples of built-in baselines.
    baselines: tuple[str, ...] = ()
    #: `display_names` maps stored names of metrics and dimensions to displayed names.
    display_names: Mapping[str, str] = field(default_factory=dict)
    #: `class_names` maps stored names of classes to displayed names.
    class_names: Mapping[str, str] = field(default_factory=dict)
    #: `human_evaluation` is None if people cannot judge the texts of runs.
    human_evaluation: HumanEvaluation | None = None
    #: `has_claims` is True if runs are responses whose claims people judge.
    has_claims: bool = False
    #: `is_judged` is True if scores depend on judgements of each run.
    #: If `is_judged` is True, a site scores a run after its judgements exist.
    is_judged: bool = False
    #: `asked_items` yields what a judge of the site's ledger is asked about a run.
    #: Metrics of entailment state their pairs themselves.
    asked_items: Callable[[Split, Pairs], Iterable[ItemToJudge]] | None = None
    #: `further_metrics` returns metrics that the options add to a rule set.
    #: For example, the options add metrics at further cut-offs.
    further_metrics: Callable[[str, Options], tuple[MetricRef, ...]] | None = None
    #: `absent_metrics` returns the metrics that the options remove from all rule sets.
    absent_metrics: Callable[[Options], frozenset[str]] = lambda _: frozenset()
    #: `scatter_pairs` lists pairs of metrics whose scatter plots a board shows.
    scatter_pairs: tuple[ScatterPair, ...] = ()
    #: `team_scores` lists scores that teams report, as the site cannot compute them.
    team_scores: tuple[str, ...] = ()
    #: `show_instances` yields single instances for pages, from gold files and a run.
    show_instances: Callable[
        [Files, Split, Pairs, Options], Iterator[ShownInstance]
    ] = show_instances_as_strings
    #: `drawn_as` selects the kind of view that shows an instance on a page.
    #: If `drawn_as` is empty, the page shows plain texts.
    drawn_as: str = ""
    #: `part_of_row` returns the name of the part of an instance that a row scores.
    part_of_row: Callable[[Any], str] | None = None
    #: `statistics` returns statistics of each data set as JSON.
    #: The statistics of the inputs and of the gold are separate JSON objects.
    statistics: Callable[[Split], list[dict[str, Any]]] | None = None
    #: `trec` describes how TREC exports read topics and documents.
    #: `trec` is None if the gold has no topics and documents.
    trec: TrecExportFunctions | None = None
    #: `candidate_order` has functions that reorder candidates of a built-in task.
    candidate_order: CandidateReordering | None = None
    #: `contents` yields for each instance the public and the secret part as JSON.
    #: The JSON of both parts does not contain the instance name.
    #: The site compares the parts to find the same instance in another gold.
    #: If `contents` is None, the site treats the whole gold as one instance.
    contents: Callable[[Files, Split], Iterable[tuple[Any, Any]]] | None = None
    #: `also_holds` yields the public and secret parts of gold that no metric uses.
    also_holds: Callable[[Files], Iterable[tuple[Any, Any]]] | None = None
    #: `trivial_runs` returns trivial runs, which do not use the gold's answers.
    #: If ``is_quick`` is True, trivial runs answer only a part of the instances.
    trivial_runs: Callable[..., TrivialRunFiles] | None = None
    #: `unreachable` yields parts of the gold that no answer can contain.
    #: Unreachable parts are unknown labels, and texts that the public inputs lack.
    unreachable: Callable[[Files, Split], Iterable[str]] | None = None
    #: `rank_by` is the ranking metric that the organisers chose.
    #: A rule set without the chosen ranking metric ranks by its own first metric.
    rank_by: str = ""
    #: `declared` has the properties of a declared task, or is None for a built-in task.
    #: The slug of a declared task is `declared:NAME@` and digits of the digest.
    declared: DeclaredTaskProperties | None = None

    @classmethod
    def of(cls, *parts: Any, **facts: Any) -> TaskType:
        """Return a task type whose fields are set from attributes of the objects in
        ``parts``.

        Each object in ``parts`` is usually a module. Each attribute of an object sets
        the field of the same name. The keyword arguments ``facts`` take precedence over
        attributes of the objects.
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
    def has_answer_parts(self) -> bool:
        return self.declared is not None or self.drawn_as in (LABELS_VIEW, LINES_VIEW)

    @property
    def reference(self) -> str:
        """Return the text from which another process can load the task type. The text
        is the slug, or the files of a declared task as JSON.
        """
        if self.declared is None:
            return self.slug
        return json.dumps(
            self.declared.scoring_files, ensure_ascii=False, sort_keys=True
        )

    @property
    def own_measures_source(self) -> str:
        return self.declared.own_measures if self.declared else ""

    def has_official_program_metrics(self, rules: str) -> bool:
        """Return True if the rule set contains a metric of the task's official program."""
        return self.declared is not None and rules in self.declared.program_rules

    def is_official_program_metric(self, rules: str, metric: str) -> bool:
        """Return True if the metric belongs to the task's official program."""
        return self.has_official_program_metrics(rules) and metric.startswith(
            PROGRAM_METRIC_PREFIX
        )

    @property
    def metrics(self) -> tuple[str, ...]:
        """Return the names of all metrics, in the order of the rule sets."""
        return tuple(
            dict.fromkeys(
                metric.name for metrics in self.rules.values() for metric in metrics
            )
        )

    @property
    def default_rule_set(self) -> str:
        return next(iter(self.rules))

    def has_rule_set(self, rules: str) -> bool:
        """Return True if the task type has the rule set. The name of an additional
        judge in the rule set's name is ignored.
        """
        return remove_judge_from_rule_set(rules) in self.rules

    def list_metrics_of_rule_set(
        self, rules: str, options: Options
    ) -> tuple[MetricRef, ...]:
        """Return the metrics of a rule set under the options, the ranking metric first.
        Raises OptionRefused.
        """
        base = remove_judge_from_rule_set(rules)
        further = self.further_metrics(base, options) if self.further_metrics else ()
        absent = self.absent_metrics(options)
        own = (metric for metric in self.rules[base] if metric.name not in absent)
        return tuple(
            sorted((*own, *further), key=lambda metric: metric.name != self.rank_by)
        )

    def with_ranking_and_main_metrics(
        self, rank_by: str, measures: Sequence[str]
    ) -> TaskType:
        """Return a copy of the task type with another ranking metric and other main
        metrics.
        """
        if not rank_by and not measures:
            return self
        return replace(
            self, rank_by=rank_by, main_metrics=tuple(measures) or self.main_metrics
        )

    def without_value(self, rules: str, options: Options) -> dict[str, str]:
        """Return the metrics of a rule set that cannot be computed, each mapped to the
        missing option.

        The default values of options replace options that are not in ``options``. The
        result is empty if the task type does not have the rule set.
        """
        if not self.has_rule_set(rules):
            return {}
        values = self._read_option_values(options)
        lacking = [
            option.name
            for option in self.options
            if option.is_needed and not values[option.name]
        ]
        metrics = self.list_metrics_of_rule_set(rules, values)
        return {
            metric.name: name
            for metric in metrics
            for name in lacking
            if name in metric.options
        }

    def get_ranking_metric_name(self, rules: str, options: Options) -> str:
        return self.list_metrics_of_rule_set(rules, self._read_option_values(options))[
            0
        ].name

    def _read_option_values(self, options: Options) -> dict[str, str]:
        return {
            option.name: option.get_value_or_default(options) for option in self.options
        }

    def validate_rule_set_name(self, rules: str | None) -> str:
        """Return the present name of a rule set, or the default if ``rules`` is None.
        Raises OptionRefused.
        """
        if rules is None:
            return self.default_rule_set
        name = replace_old_rule_set_name(rules)
        if name not in self.rules:
            raise OptionRefused(
                f"{self.slug} has no rules “{rules}”; it has {', '.join(self.rules)}"
            )
        return name

    def validate_options(
        self, options: Options, *, builds: bool = True
    ) -> dict[str, str]:
        """Return the values of all options, with defaults for options that are not set.

        If ``builds`` is True, the metrics of every rule set are created as a test, and
        a metric raises an error for a value that it does not accept. Raises
        OptionRefused for an unknown name or value, with a message that lists the valid
        ones.
        """
        checked = validate_option_values(self.slug, self.all_options, options)
        for name in (UNIT.name, CUTOFFS_OPTION_NAME):
            if not checked.get(name, "-"):
                del checked[name]
        for rules in self.rules if builds else ():
            for metric in self.list_metrics_of_rule_set(rules, checked):
                metric.build_metric(rules, checked)
        return checked

    @property
    def all_options(self) -> tuple[Option, ...]:
        return (*self.options, UNIT)

    def get_resampling_unit_name(self, options: Options) -> str:
        return options.get(UNIT.name) or self.unit

    def gold_of(self, files: Files, options: Options) -> Split:
        """Read the gold and the resampling unit of each instance.

        Raises InputRefused. The error lists problems, and each problem names one file
        or all files.
        """
        try:
            split, name = self.read_gold(files, options), options.get(UNIT.name, "")
            split = replace(split, reading=get_reading_version(files))
            if split.reading > 1:
                _refuse_ids_equal_in_nfc(split.index)
        except InputRefused as refused:
            shown = join_shown_file_names(files)
            raise InputRefused(
                replace(problem, file=problem.file or shown)
                for problem in refused.problems
            ) from refused
        if not name or name in self.dimensions:
            return split
        members = [file for file in files if self.is_gold_file(file.name)]
        return replace(
            split,
            unit_values=read_unit_of_each_instance(members, name, self.instance_names),
        )

    def pairs_of(self, split: Split, run: Any, rules: str, options: Options) -> Pairs:
        """Return the pairs that ``pair`` returns, with the clusters that the option
        ``unit`` selects. Raises InputRefused.
        """
        pairs, name = self.pair(split, run, rules, options), options.get(UNIT.name, "")
        if not name:
            return pairs
        clusters = assign_resampling_clusters(
            pairs.names, pairs.units, pairs.features, name, split.unit_values
        )
        return replace(pairs, clusters=clusters)


def _refuse_ids_equal_in_nfc(index: Index) -> None:
    """Raise InputRefused if two ids of instances or candidates differ only in their
    Unicode normalisation.
    """
    groups = [index.get(key, ()) for key in ("instances", "passages")]
    groups += index.get("pools", ())
    groups += index.get("datasets", {}).values()
    problems = []
    for names in groups:
        if all(map(str.isascii, names)):
            continue
        forms: dict[str, str] = {}
        for name in names:
            if (other := forms.setdefault(normalise_to_nfc(name), name)) != name:
                message = f"the ids “{name}” and “{other}” are equal in NFC"
                problems.append(
                    Problem(message=message, expected="ids that differ in it")
                )
    raise_if_any_problem_is_fatal(problems)


def replace_old_rule_set_name(name: str) -> str:
    """Return the present name of a rule set that may have an old name.

    >>> replace_old_rule_set_name("fair"), replace_old_rule_set_name("official-2018")
    ('corrected', 'official-2018')
    """
    return _NEW_NAME_OF_OLD_RULES.get(name, name)


def parse_option_arguments(pairs: Sequence[str]) -> dict[str, str]:
    """Parse the KEY=VALUE arguments of a command line into options. Raises
    OptionRefused.
    """
    if wrong := [pair for pair in pairs if "=" not in pair]:
        raise OptionRefused(f"--option {wrong[0]}: expected KEY=VALUE")
    return dict(pair.split("=", 1) for pair in pairs)


def validate_option_values(
    owner: str, options: Sequence[Option], values: Options
) -> dict[str, str]:
    """Return the values of all options, with defaults for options that are not set.

    Raises OptionRefused with a message that names the owner of the options.
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
    return {
        name: option.get_value_or_default(values) for name, option in by_name.items()
    }


#: A page shows an instance in one kind of view, such as `sentences` or `ranking`.
#: The view `marks` highlights parts of a text, and `lines` shows correct lines.
SENTENCES_VIEW, RANKING_VIEW, TEXTS_VIEW, MARKS_VIEW = (
    "sentences",
    "ranking",
    "texts",
    "marks",
)
LABELS_VIEW, LINES_VIEW, TAGS_VIEW = "labels", "lines", "tags"
#: The view `reports` shows sentences with citations, and nuggets (expected facts).
#: The view `reports` shows the judgements of each sentence and each nugget.
REPORTS_VIEW = "reports"
#: `marked-text` is the name of a view of a text with highlighted spans.
MARKED_TEXT_VIEW = "marked-text"
#: The view `evidence` shows documents and sentences that support or contradict a claim.
EVIDENCE_VIEW = "evidence"
#: `MAX_STORED_INSTANCES` limits the stored instances per run.
#: `TOP` limits the stored candidates per ranking.
MAX_STORED_INSTANCES, MAX_STORED_CANDIDATES = 2_000, 10
#: An outcome states if a sentence of an answer or of the gold is right or wrong.
#: A wrong sentence is `alike` if it shares words with a gold sentence.
#: A missed sentence is `implied` if the answer implies it but shares few words with it.
RIGHT_OUTCOME, ALIKE_OUTCOME, WRONG_OUTCOME, IMPLIED_OUTCOME, MISSED_OUTCOME = (
    "right",
    "alike",
    "wrong",
    "implied",
    "missed",
)
SENTENCE_OUTCOMES = (
    ALIKE_OUTCOME,
    WRONG_OUTCOME,
    IMPLIED_OUTCOME,
    MISSED_OUTCOME,
    RIGHT_OUTCOME,
)
#: A sentence next to a judged sentence has the outcome `context`.
#: Neither the answer nor the gold contains a sentence with the outcome `context`.
CONTEXT_OUTCOME = "context"


class AnswerPart(NamedTuple):
    """A part of a gold or an answer that a measure counts, such as a label, span,
    entity, document or sentence.

    ``name`` identifies the label, entity or other part in the file. ``text`` is the
    text of the part in the input fields. ``note`` is the label or grade of the part.
    ``start`` and ``end`` are the part's character offsets in the text of the instance,
    or -1. ``level`` is 1 for a part that is nested in the previous part, otherwise 0.
    If some parts are not stored, ``number`` is the index of this part among all parts,
    otherwise -1.
    """

    name: str
    text: str = ""
    note: str = ""
    start: int = -1
    end: int = -1
    level: int = 0
    number: int = -1


#: The credit of a part is from 0 to 1, or None if a measure does not count the part.
PartCredits = tuple[float | None, ...]


class MeasureCredits(NamedTuple):
    """The credits that measures give for each part of an instance's gold and answer,
    where a part is for example a label or an entity.

    ``gold`` and ``answer`` are empty if the measures do not credit parts of the gold or
    of the answer. ``metrics`` are the names of the measures that give the credits.
    """

    gold: PartCredits
    answer: PartCredits
    metrics: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ShownInstance:
    """The texts of one instance that a page shows. ``given`` is the text that systems
    receive, without gold. ``given`` may be empty.
    """

    name: str
    given: str = ""
    gold: str = ""
    answer: str = ""
    #: Each pair in `judged` has an outcome and a sentence, in the order of the text.
    #: Only task types that provide outcomes have pairs of outcomes and sentences.
    #: Sentences next to a judged sentence have the outcome `context`.
    #: The pairs of outcomes and sentences reveal the gold.
    judged: tuple[tuple[str, str], ...] = ()
    #: `beside` contains the answer's scores of candidates or probabilities of labels.
    beside: tuple[tuple[str, float], ...] = ()
    #: `pool` is the number of candidates of the instance, or 0 without candidates.
    pool: int = 0
    #: Only instances of declared tasks have input fields, and parts of gold and answer.
    fields: Mapping[str, Any] = field(default_factory=dict)
    gold_parts: tuple[AnswerPart, ...] = ()
    answer_parts: tuple[AnswerPart, ...] = ()
    #: `marks` has the credits of each measure, which reveal the gold (true answers).
    marks: tuple[MeasureCredits, ...] = ()

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> ShownInstance:
        """Create an instance from a JSON object. Missing fields get defaults, and
        unknown fields are ignored.
        """
        pairs = {
            name: tuple(map(tuple, values.get(name, ())))
            for name in ("judged", "beside")
        }
        parts = {
            name: tuple(AnswerPart(*part) for part in values.get(name, ()))
            for name in ("gold_parts", "answer_parts")
        }
        marks = tuple(
            MeasureCredits(*(tuple(side) for side in mark))
            for mark in values.get("marks", ())
        )
        known = {field.name for field in fields(cls)}
        kept = {name: value for name, value in values.items() if name in known}
        return cls(**{**kept, **pairs, **parts, "marks": marks})


def group_row_numbers_by_instance(names: Sequence[str] | None) -> dict[str, list[int]]:
    """Return the row numbers of each instance, for the first ``MAX_STORED_INSTANCES`` instances."""
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(names or ()):
        if name in rows or len(rows) < MAX_STORED_INSTANCES:
            rows.setdefault(name, []).append(row)
    return rows


def join_distinct_texts(texts: Sequence[str]) -> str:
    """Join the distinct texts in their order, one text per line."""
    return "\n".join(dict.fromkeys(text for text in texts if text))


#: The sources of an instance are pairs of a heading and a text.
HeadingsAndTexts = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class JudgementScale:
    """A question that judges answer about a text on five levels, and the description of
    each level, the lowest level first.
    """

    question: str
    levels: tuple[str, str, str, str, str]


@dataclass(frozen=True)
class HumanEvaluation:
    """The texts and scales that people see when they judge runs.

    ``sources`` reads the public inputs of the task and not the gold. ``texts`` returns
    the texts of a parsed run. The functions ``sources`` and ``texts`` return mappings
    from instance names to texts. ``scales`` maps names of criteria to scales that the
    task defines. For a criterion without a scale in ``scales``, judges see only the
    names of the lowest and the highest level. If judges compare texts with gold texts,
    ``references`` reads the gold texts, and ``reference_scales`` are the scales of this
    comparison.
    """

    sources: Callable[[Files], Mapping[str, HeadingsAndTexts]]
    texts: Callable[[Any], Mapping[str, str]]
    scales: Mapping[str, JudgementScale] = field(default_factory=dict)
    references: Callable[[Files], Mapping[str, str]] | None = None
    reference_scales: Mapping[str, JudgementScale] = field(default_factory=dict)


def replace_paths_by_file_names(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options with file names in place of paths.

    >>> replace_paths_by_file_names({"parser": "/srv/data/parses.jsonl", "entailment": "labels:/srv/l.jsonl"})
    {'parser': 'parses.jsonl', 'entailment': 'labels:l.jsonl'}
    """
    return {name: _remove_absolute_folder(value) for name, value in options.items()}


def _remove_absolute_folder(value: str) -> str:
    head, _, path = value.partition(":")
    # A single letter before the colon is the drive of a Windows path, such as C:.
    for before, whole in ((f"{head}:", path), ("", value)):
        for kind in (PureWindowsPath, PurePosixPath):
            if kind(whole).is_absolute() and (len(head) > 1 or not before):
                return before + kind(whole).name
    return value
