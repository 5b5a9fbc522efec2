"""Instances of citation text generation (inputs and the authors' text), and runs.

A run contains a citation text for each instance, as JSON lines with ids or as the
benchmark's original list in the order of the gold. Fields of a run that the format does
not define are ignored. The field `target` of the original list is never compared with
the gold, since a message about a difference would reveal the gold.
"""

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import PurePosixPath
from typing import Any

from tasks.types import base, jsonlines
from tasks.types.files import Files, InputFile
from tasks.types.problems import Problem, ProblemList
from tasks.types.run_forms import RunFormatSignature
from tasks.types.tables import RunTableColumns, read_run_with_tables
from tasks.types.text import (
    describe_json_type,
    is_list_of_texts,
    length_class,
    normalise_nested_texts_to_nfc,
)

INPUTS_FILE_NAME, KNOWN_FAULTS_FILE_NAME = "inputs.jsonl", "known-faults.md"
#: If a file's name is in `_FILE_NAMES_WITHOUT_DATASET`, the file's name is not that of a data set.
#: Ids in a file with a name in `_FILE_NAMES_WITHOUT_DATASET` name the data set, as `lu-00` names `lu`.
_FILE_NAMES_WITHOUT_DATASET = frozenset(
    {"gold", "inputs", "instances", "sample", "test", "targets"}
)
_NUMBERED_ID_PATTERN = re.compile(r"(.+)-[0-9]+")
MessageAndExpectedPairs = Iterator[tuple[str, str]]


def read_gold(files: Files, options: base.Options) -> base.Split:
    """Read the instances of all data sets. Known faults of the data become notes beside
    the scores.

    Raises InputRefused with all problems of the files.
    """
    instances = read_instances(files, with_targets=True)
    return base.Split(
        content=instances,
        instances=len(instances),
        rows=len(instances),
        index=build_index_of_datasets(instances),
        digest=jsonlines.compute_records_digest(
            [instance.canonical_record() for instance in instances]
        ),
        notes=tuple(iterate_known_faults(instances)),
    )


def read_inputs(files: Files, options: base.Options) -> base.Index:
    return build_index_of_datasets(read_instances(files, with_targets=False))


def public_files(files: Files, options: base.Options) -> Iterator[tuple[str, bytes]]:
    """Yield two public files. The first file contains every instance with data set and
    inputs, but no target or labels. The second file contains the known faults of the
    inputs.
    """
    instances = read_instances(files, with_targets=True)
    yield (
        INPUTS_FILE_NAME,
        jsonlines.format_as_json_lines(instance.public() for instance in instances),
    )
    if faults := list(iterate_known_faults(instances, with_targets=False)):
        yield (
            KNOWN_FAULTS_FILE_NAME,
            "".join(f"- {fault}\n" for fault in faults).encode(),
        )


def contents(files: Files, split: base.Split) -> Iterator[tuple[Any, Any]]:
    for instance in split.content:
        yield instance.inputs, [instance.target, instance.labels]


def build_index_of_datasets(instances: "Sequence[CitationTextInstance]") -> base.Index:
    """Return the index, which validates runs. For each data set, the index contains the
    instances in order and the number of cited papers of each instance.
    """
    datasets: dict[str, dict[str, int]] = {}
    for instance in instances:
        datasets.setdefault(instance.dataset, {})[instance.id] = len(
            instance.cited_abstracts
        )
    return {"datasets": datasets}


def read_instances(
    files: Files, *, with_targets: bool
) -> "tuple[CitationTextInstance, ...]":
    """Read the instances of all files, grouped by data set. Raises InputRefused."""
    problems: list[Problem] = []
    instances: dict[str, CitationTextInstance] = {}
    for file in (member for member in files if jsonlines.is_records_file(member.name)):
        records = list(jsonlines.read_records(file, problems))
        name_of = _InstanceNamer(file, records)
        for record in records:
            value = record.value
            faults = [
                record.problem(*fault)
                for fault in _find_instance_faults(record, with_targets=with_targets)
            ]
            dataset, name = name_of(record)
            if name in instances:
                faults.append(
                    record.problem(
                        f"instance “{name}” is there twice", "an id for each instance"
                    )
                )
            problems += faults
            if not faults:
                instances[name] = CitationTextInstance(
                    id=name,
                    dataset=dataset,
                    inputs=tuple(
                        map(jsonlines.replace_unpaired_surrogates, value["input"])
                    ),
                    target=jsonlines.replace_unpaired_surrogates(
                        value.get("target") or ""
                    ),
                    labels=parse_sentence_labels(value.get("labels")),
                )
    expected = "JSON objects with “input” and “target”, a file for each data set"
    jsonlines.refuse_faulty_gold(files, problems, instances, "instances", expected)
    # The instances are grouped by data set.
    # The first instance of a data set determines the position of the data set.
    names = dict.fromkeys(instance.dataset for instance in instances.values())
    order = {name: index for index, name in enumerate(names)}
    return tuple(
        sorted(instances.values(), key=lambda instance: order[instance.dataset])
    )


def instance_names(
    file: InputFile, records: Sequence[jsonlines.JsonRecord]
) -> Iterator[str]:
    name_of = _InstanceNamer(file, records)
    return (name_of(record)[1] for record in records)


class _InstanceNamer:
    """Determine the data set and the name of each record.

    A record may name its data set in the field `dataset`. By default, the data set is
    the name of the file. If the file name does not name a data set, the ids name the
    data set, so `lu-00` and `lu-02` belong to `lu`. A record without an id gets an id
    from its position in the file.
    """

    def __init__(
        self, file: InputFile, records: Sequence[jsonlines.JsonRecord]
    ) -> None:
        self._width = max(2, len(str(len(records) - 1)))
        self._dataset = file.stem
        if file.stem.lower() in _FILE_NAMES_WITHOUT_DATASET:
            matches = (
                _NUMBERED_ID_PATTERN.fullmatch(record.id or "") for record in records
            )
            prefixes = {match and match[1] for match in matches}
            if len(prefixes) == 1:
                self._dataset = prefixes.pop() or file.stem

    def __call__(self, record: jsonlines.JsonRecord) -> tuple[str, str]:
        name = record.value.get("dataset")
        dataset = (
            jsonlines.replace_unpaired_surrogates(name)
            if isinstance(name, str) and name
            else self._dataset
        )
        return dataset, jsonlines.replace_unpaired_surrogates(
            record.id or f"{dataset}-{record.item - 1:0{self._width}d}"
        )


def _find_instance_faults(
    record: jsonlines.JsonRecord, *, with_targets: bool
) -> MessageAndExpectedPairs:
    value = record.value
    items = value.get("input")
    if not is_list_of_texts(items):
        fault = (
            "missing"
            if "input" not in value
            else f"{describe_json_type(items)}, not all of it texts"
        )
        yield f"“input” is {fault}", "a list of texts"
    elif not select_abstracts_of_cited_papers(items):
        yield (
            "“input” has no abstract of a cited paper",
            "at least one item without a tag",
        )
    if with_targets and not isinstance(value.get("target"), str):
        yield (
            f"“target” is {describe_json_type(value['target']) if 'target' in value else 'missing'}",
            "a text",
        )
    name = value.get("dataset")
    if name is not None and not isinstance(name, str):
        yield f"“dataset” is {describe_json_type(name)}", "the name of a data set"
    yield from find_sentence_label_faults(value.get("labels"))


@dataclass(frozen=True)
class CitationTextInstance:
    """An instance of the benchmark. ``inputs`` are texts with the tags of the
    benchmark. ``target`` is empty if only the inputs are available.
    """

    id: str
    dataset: str
    inputs: tuple[str, ...]
    target: str = ""
    labels: "LabelsByScheme" = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Return the text that metrics use as the reference text."""
        return self.target

    @property
    def cited_abstracts(self) -> list[str]:
        """Return the abstracts of the cited papers, in the order of the citation marks'
        numbers.
        """
        return select_abstracts_of_cited_papers(self.inputs)

    def public(self) -> dict[str, Any]:
        return {"id": self.id, "dataset": self.dataset, "input": list(self.inputs)}

    def canonical_record(self) -> dict[str, Any]:
        """Return the instance as JSON. The key `labels` is omitted for an instance
        without labels.
        """
        labels = (
            {"labels": {kind: list(group) for kind, group in self.labels.items()}}
            if self.labels
            else {}
        )
        return {**self.public(), "target": self.target, **labels}


#: `_KNOWN_FAULTS_OF_DATASET` describes, by data set, faults of the data that no check can detect.
_KNOWN_FAULTS_OF_DATASET = {
    "xing": "the benchmark gives the citing paper's abstract as the cited one and the cited one as `<abs>`"
}


def iterate_known_faults(
    instances: Sequence[CitationTextInstance], *, with_targets: bool = True
) -> Iterator[str]:
    """Yield a sentence about each known fault of each data set.

    The sentences contain the number of faults in the authors' texts and never quote
    them. If ``with_targets`` is False, yield only faults that are visible in the
    inputs.
    """
    for dataset, group in groupby(instances, key=lambda instance: instance.dataset):
        part = list(group)
        damaged = [
            len(parse_citation_marks(instance.target).damaged)
            for instance in part
            if with_targets
        ]
        empty = [
            sum(not abstract.strip() for abstract in instance.cited_abstracts)
            for instance in part
        ]
        if having := sum(map(bool, damaged)):
            yield f"{dataset}: {sum(damaged)} damaged marks such as `[2]9` in {having} of {len(part)} targets"
        if having := sum(map(bool, empty)):
            yield f"{dataset}: {sum(empty)} empty cited abstracts in {having} of {len(part)} instances"
        if dataset in _KNOWN_FAULTS_OF_DATASET:
            yield f"{dataset}: {_KNOWN_FAULTS_OF_DATASET[dataset]}"


INTENT_SCHEME, CORWA_SCHEME = "intent", "corwa"
LABEL_SCHEMES = (INTENT_SCHEME, CORWA_SCHEME)
MAX_LABEL_CHARACTERS, MAX_LABELS_PER_INSTANCE = 100, 10_000

#: `Labels` contains a list with one label per sentence for each kind of label.
#: Kinds of labels without any label are omitted.
LabelsByScheme = Mapping[str, tuple[str, ...]]


def parse_sentence_labels(value: Any) -> LabelsByScheme:
    """Return the lists of sentence labels in the field ``labels``. The caller has
    checked the field for faults.
    """
    return {
        kind: tuple(map(jsonlines.replace_unpaired_surrogates, group))
        for kind, group in (value or {}).items()
    }


def find_sentence_label_faults(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the actual and the expected value for each fault in the field ``labels``."""
    if value is None:
        return
    expected = f"an object with lists of texts under {' and '.join(f'“{kind}”' for kind in LABEL_SCHEMES)}"
    if not isinstance(value, dict):
        yield f"“labels” is {describe_json_type(value)}", expected
        return
    for kind, labels in value.items():
        if kind not in LABEL_SCHEMES:
            yield f"“labels” has “{kind[:MAX_LABEL_CHARACTERS]}”", expected
        elif not is_list_of_texts(labels):
            yield (
                f"the {kind} labels are {describe_json_type(labels)}, not all of it texts",
                expected,
            )
        elif len(labels) > MAX_LABELS_PER_INSTANCE:
            yield (
                f"{len(labels):,} {kind} labels",
                f"at most {MAX_LABELS_PER_INSTANCE:,}",
            )
        elif any(len(label) > MAX_LABEL_CHARACTERS for label in labels):
            yield (
                f"a {kind} label of more than {MAX_LABEL_CHARACTERS} characters",
                "short names",
            )


#: `_CITATION_MARK_PATTERN` matches a citation mark and the digits directly after the mark.
#: Replacing `@cite_1` within `@cite_19` leaves a mark that the digit 9 follows.
_CITATION_MARK_PATTERN = re.compile(r"\[([0-9]{1,6})\]([0-9]*)")


@dataclass(frozen=True)
class CitationMarks:
    papers: tuple[int, ...]
    damaged: tuple[str, ...]

    def unknown(self, cited: int) -> list[int]:
        """Return the numbers in citation marks that exceed the number of cited papers."""
        return [paper for paper in self.papers if paper >= cited]


def parse_citation_marks(text: str) -> CitationMarks:
    matches = list(_CITATION_MARK_PATTERN.finditer(text))
    papers = tuple(int(match[1]) for match in matches if not match[2])
    return CitationMarks(
        papers, damaged=tuple(match[0] for match in matches if match[2])
    )


def remove_citation_marks(text: str) -> str:
    """Replace each citation mark by a space, together with the digits of a damaged
    mark.
    """
    return _CITATION_MARK_PATTERN.sub(" ", text)


ABSTRACT_TAG, CONTEXT_BEFORE_TAG, CONTEXT_AFTER_TAG = "abs", "ctx_b", "ctx_a"
_CONTEXT_TAGS = (ABSTRACT_TAG, CONTEXT_BEFORE_TAG, CONTEXT_AFTER_TAG)
_LEADING_TAG_PATTERN = re.compile(rf"\s*<({'|'.join(_CONTEXT_TAGS)})>")
#: `_CONTEXT_TAG_PATTERN` matches the tags that the benchmark's program removes from texts.
#: The removed tags occur in abstracts and contexts.
_CONTEXT_TAG_PATTERN = re.compile(rf"</?(?:{'|'.join(_CONTEXT_TAGS)})>")


def is_abstract_of_cited_paper(item: str) -> bool:
    """Return True if an item of the inputs is the abstract of a cited paper."""
    return _LEADING_TAG_PATTERN.match(item) is None


def select_abstracts_of_cited_papers(items: Sequence[str]) -> list[str]:
    return [item for item in items if is_abstract_of_cited_paper(item)]


def remove_context_tags(text: str) -> str:
    return _CONTEXT_TAG_PATTERN.sub("", text)


#: Phrases in `SELF_REFERENCES_IN_PROGRAM` are searched in the whole text in lower case.
#: The benchmark's paper prints four phrases, and its program has a fifth phrase.
SELF_REFERENCES_IN_PAPER = ("our work", "in this paper", "we present", "we introduce")
SELF_REFERENCES_IN_PROGRAM = (
    *SELF_REFERENCES_IN_PAPER,
    "the main objective of our work",
)


def has_self_reference(
    text: str, phrases: tuple[str, ...] = SELF_REFERENCES_IN_PROGRAM
) -> bool:
    lowered = text.lower()
    return any(phrase in lowered for phrase in phrases)


#: In the benchmark's paper, models read MAX_INPUT_TOKENS and write MAX_OUTPUT_TOKENS tokens at most.
MAX_INPUT_TOKENS, MAX_OUTPUT_TOKENS = 4096, 1024
ALL_DATA_SETS = "all"
#: Beyond MAX_DATA_SETS_WITH_STATISTICS data sets, statistics describe only all data sets together.
MAX_DATA_SETS_WITH_STATISTICS = 100

TokenCounter = Callable[[str], int]


@dataclass(frozen=True, kw_only=True)
class DataSetStatistics:
    """Statistics of one data set. The means of a data set are over instances.

    ``self_references`` is the number of texts that contain at least one phrase of
    `SELF_REFERENCES_IN_PROGRAM`, such as “in this paper”. ``phrases`` maps each phrase of
    `SELF_REFERENCES_IN_PROGRAM` to the number of texts that contain the phrase.
    ``printed_self_references`` counts only texts with one of the four phrases that the
    paper prints.
    """

    name: str
    instances: int
    cited_papers: int
    input_words: float
    output_words: float
    long_inputs: int
    long_outputs: int
    printed_self_references: int
    self_references: int
    phrases: Mapping[str, int]


#: `INPUT_STATISTICS` lists the statistics that are computed from the inputs.
#: `GOLD_STATISTICS` lists the statistics that need the gold, except ``phrases``.
INPUT_STATISTICS = ("instances", "cited_papers", "input_words", "long_inputs")
GOLD_STATISTICS = (
    "output_words",
    "long_outputs",
    "printed_self_references",
    "self_references",
)


def compute_data_set_statistics(
    instances: Sequence[CitationTextInstance], count: TokenCounter | None = None
) -> list[DataSetStatistics]:
    """Return the statistics of each data set in order, and of all data sets together if
    there are several data sets.

    ``count`` returns the number of tokens of a text, by default the number of words
    separated by white space. The input of an instance is the concatenation of the input
    items without tags.
    """
    groups: dict[str, list[CitationTextInstance]] = {}
    for instance in instances:
        groups.setdefault(instance.dataset, []).append(instance)
    sets = [
        _compute_statistics_of_data_set(name, group, count or _count_words)
        for name, group in groups.items()
    ]
    return (
        [
            *sets,
            _compute_statistics_of_data_set(
                ALL_DATA_SETS, instances, count or _count_words
            ),
        ]
        if len(sets) > 1
        else sets
    )


def statistics(split: base.Split) -> list[dict[str, Any]]:
    """Return statistics of each data set as JSON, in one object computed from the
    inputs and one object computed from the gold.

    If there are several data sets, the last entry describes all data sets together and
    has the name null.
    """
    sets = compute_data_set_statistics(split.content)
    total = sets[-1] if len(sets) > 1 else None
    return [
        {
            # Null characters become spaces, since PostgreSQL cannot store them.
            "name": None if one is total else one.name.replace("\0", " "),
            "inputs": {fact: getattr(one, fact) for fact in INPUT_STATISTICS},
            "gold": {fact: getattr(one, fact) for fact in GOLD_STATISTICS}
            | {"phrases": list(one.phrases.values())},
        }
        for one in (
            sets if len(sets) <= MAX_DATA_SETS_WITH_STATISTICS + 1 else sets[-1:]
        )
    ]


def _compute_statistics_of_data_set(
    name: str, members: Sequence[CitationTextInstance], count: TokenCounter
) -> DataSetStatistics:
    inputs = [
        " ".join(remove_context_tags(item).strip() for item in instance.inputs)
        for instance in members
    ]
    targets = [instance.target for instance in members]
    return DataSetStatistics(
        name=name,
        instances=len(members),
        cited_papers=sum(len(instance.cited_abstracts) for instance in members),
        input_words=sum(map(_count_words, inputs)) / len(members),
        output_words=sum(map(_count_words, targets)) / len(members),
        long_inputs=sum(count(text) > MAX_INPUT_TOKENS for text in inputs),
        long_outputs=sum(count(text) > MAX_OUTPUT_TOKENS for text in targets),
        printed_self_references=sum(
            has_self_reference(text, SELF_REFERENCES_IN_PAPER) for text in targets
        ),
        self_references=sum(map(has_self_reference, targets)),
        phrases={
            phrase: sum(phrase in text.lower() for text in targets)
            for phrase in SELF_REFERENCES_IN_PROGRAM
        },
    )


def _count_words(text: str) -> int:
    return len(text.split())


RUN_EXAMPLE = '{"id": "lu-00", "prediction": "Early work [0] uses rules."}'
#: A table with a run has the columns `id`, `prediction` and `labels` (as JSON).
RUN_TABLE_COLUMNS = RunTableColumns(
    id="id",
    answer="prediction",
    others=("labels",),
    json=frozenset({"labels"}),
    may_be_empty=True,
)
RUN_ANSWER_FORM = jsonlines.AnswerForm(
    example=RUN_EXAMPLE,
    noun="prediction",
    later_counts=True,
    table=RUN_TABLE_COLUMNS.description,
)
RUN_FORM = RunFormatSignature(
    described=RUN_ANSWER_FORM.files,
    keys=(frozenset({"prediction"}),),
    columns=frozenset({RUN_TABLE_COLUMNS.answer}),
    table=RUN_TABLE_COLUMNS,
)


@dataclass(frozen=True)
class PredictedCitationText:
    """A system's citation text for one instance. ``labels`` is empty if the run has no
    labels of sentences.
    """

    text: str
    labels: LabelsByScheme = field(default_factory=dict)


#: `Run` maps each instance with a prediction to the prediction.
PredictionsByInstance = Mapping[str, PredictedCitationText]


def read_run(
    files: Files, index: base.Index, options: base.Options
) -> tuple[PredictionsByInstance, list[Problem]]:
    """Return the texts of a run, which are valid only if no problem is fatal, and all
    problems of the files.
    """
    return read_run_with_tables(
        files, RUN_TABLE_COLUMNS, lambda lines: _read_predictions(lines, index)
    )


def _read_predictions(
    files: Files, index: base.Index
) -> tuple[PredictionsByInstance, list[Problem]]:
    datasets: Mapping[str, Mapping[str, int]] = index["datasets"]
    cited = {
        name: count for dataset in datasets.values() for name, count in dataset.items()
    }
    is_alone = (
        len(datasets) == 1
        or sum(file.suffix in jsonlines.JSON_SUFFIXES for file in files) == 1
    )

    def read(name: str, line: jsonlines.AnswerLine) -> PredictedCitationText | None:
        text = line.text("prediction", example=RUN_EXAMPLE)
        for fault in find_sentence_label_faults(line.value.get("labels")):
            line.wrong(*fault)
        if text is None or not line.is_sound:
            return None
        if not text.strip():
            line.doubt("the text is empty and scores 0")
        in_text = parse_citation_marks(text)
        if in_text.damaged:
            line.doubt(
                f"{_join_first_names(in_text.damaged)}: digits right behind a mark",
                "marks such as [0]",
            )
        if unknown := [
            f"[{paper}]" for paper in dict.fromkeys(in_text.unknown(cited[name]))
        ]:
            line.doubt(
                f"{_join_first_names(unknown)} stand for no cited paper",
                f"marks from [0] to [{cited[name] - 1}]",
            )
        return PredictedCitationText(
            text, parse_sentence_labels(line.value.get("labels"))
        )

    def iterate_records_with_instance_ids(
        file: InputFile, problems: ProblemList
    ) -> Iterator[tuple[str | None, jsonlines.JsonRecord]]:
        records = jsonlines.JsonFileRecords(file, problems)
        if records.are_records_without_ids:
            return _iterate_by_position(
                file, records, datasets, problems, is_alone=is_alone
            )
        return (
            (record.id and jsonlines.replace_unpaired_surrogates(record.id), record)
            for record in records
        )

    return jsonlines.read_answers(
        files, cited, read, RUN_ANSWER_FORM, named=iterate_records_with_instance_ids
    )


def filled(run: PredictionsByInstance, index: base.Index) -> Iterable[bool]:
    return base.iterate_is_text_nonempty(get_texts_for_judges(run), index)


def _iterate_by_position(
    file: InputFile,
    records: jsonlines.JsonFileRecords,
    datasets: Mapping[str, Mapping[str, int]],
    problems: ProblemList,
    *,
    is_alone: bool,
) -> Iterator[tuple[str | None, jsonlines.JsonRecord]]:
    """Yield the instance name of each item in the benchmark's original list form. The
    n-th item belongs to the n-th instance of the data set, or of all data sets.

    The file or its folder is named after the data set, as in `lu.json` or
    `lu/predictions.json`.
    """
    folders = reversed(PurePosixPath(file.name).parent.parts)
    dataset = next((name for name in (file.stem, *folders) if name in datasets), None)
    names = [
        name
        for one in ([dataset] if dataset is not None else datasets)
        for name in datasets[one]
    ]
    if dataset is None and not is_alone:
        message = "a list without ids in a file that is not named for a data set"
        expected = f"one of {', '.join(f'{name}.json' for name in datasets)}"
        problems.append(file.make_problem(message, expected))
    elif len(records) != len(names):
        owner = f"data set {dataset}" if dataset else "split"
        message = f"a list of {len(records):,} predictions without ids"
        expected = f"{len(names):,}, one for each instance of the {owner} in its order"
        problems.append(file.make_problem(message, expected))
    else:
        yield from zip(names, records, strict=True)


def _join_first_names(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (" and others" if len(names) > 5 else "")


DIMENSIONS = (
    "dataset",
    "cited_papers",
    "target_length",
    "empty_abstracts",
    "unseen_words",
    "target_intent",
)
#: `NOTE_NAMES` lists counts that boards show beside the scores and that reveal no scores.
NOTE_NAMES = (
    "missing_predictions",
    "empty_predictions",
    "missing_marks",
    "unknown_marks",
    "damaged_marks",
)
_MAX_COUNTED_PAPERS = 5
#: `_NUMBER_OR_LONG_WORD` matches numbers, and words of four or more letters.
#: The unseen share of a text counts only matches of `_NUMBER_OR_LONG_WORD`.
_NUMBER_OR_LONG_WORD = re.compile(r"[^\W\d_]{4,}|\d+")
_UNSEEN_SHARE_CLASSES = (
    (0.25, "under a quarter"),
    (0.5, "a quarter to half"),
    (0.75, "half to three quarters"),
)


def pair(
    split: base.Split, run: PredictionsByInstance, rules: str, options: base.Options
) -> base.Pairs:
    """Pair the instances of the gold with the predictions of a run. Every rule set
    treats a missing prediction as an empty text.
    """
    gold: tuple[CitationTextInstance, ...] = split.content
    if split.reading > 1 and not base.is_official_rule_set(rules):
        gold, run = (
            normalise_nested_texts_to_nfc(gold),
            normalise_nested_texts_to_nfc(run),
        )
    answers = [run.get(instance.id) for instance in gold]
    names = [instance.id for instance in gold]
    notes = Counter(dict.fromkeys(NOTE_NAMES, 0))
    for instance, answer in zip(gold, answers, strict=True):
        cited, in_text = (
            len(instance.cited_abstracts),
            parse_citation_marks(answer.text if answer else ""),
        )
        notes["missing_predictions"] += answer is None
        notes["empty_predictions"] += answer is not None and not answer.text.strip()
        unknown = in_text.unknown(cited)
        notes["missing_marks"] += cited - len(set(in_text.papers).difference(unknown))
        notes["unknown_marks"] += len(unknown)
        notes["damaged_marks"] += len(in_text.damaged)
    classes = [_classify_instance(instance) for instance in gold]
    features = {name: [class_[name] for class_ in classes] for name in DIMENSIONS}
    return base.Pairs(
        gold=gold,
        answers=answers,
        units=names,
        features=features,
        names=names,
        notes=notes,
    )


def _classify_instance(instance: CitationTextInstance) -> dict[str, tuple[str, ...]]:
    cited = instance.cited_abstracts
    empty = sum(not abstract.strip() for abstract in cited)
    return {
        "dataset": (instance.dataset,),
        "cited_papers": (
            str(len(cited))
            if len(cited) < _MAX_COUNTED_PAPERS
            else f"{_MAX_COUNTED_PAPERS} or more",
        ),
        "target_length": (length_class(len(instance.target.split())),),
        "empty_abstracts": (
            "none" if not empty else "all" if empty == len(cited) else "some",
        ),
        "unseen_words": (classify_unseen_word_share(instance),),
        "target_intent": tuple(dict.fromkeys(instance.labels.get(INTENT_SCHEME, ()))),
    }


def classify_unseen_word_share(instance: CitationTextInstance) -> str:
    """Return the class of an instance's unseen share. The unseen share is the share of
    distinct words in the authors' text that do not occur in the inputs.
    """
    texts = (
        remove_citation_marks(instance.target),
        " ".join(map(remove_context_tags, instance.inputs)),
    )
    answered, shown = (
        set(_NUMBER_OR_LONG_WORD.findall(text.lower())) for text in texts
    )
    share = len(answered - shown) / len(answered) if answered else 0
    return next(
        (name for limit, name in _UNSEEN_SHARE_CLASSES if share < limit),
        "three quarters or more",
    )


def show_instances(
    files: Files, split: base.Split, pairs: base.Pairs, options: base.Options
) -> Iterator[base.ShownInstance]:
    """Yield for each instance the inputs as paragraphs, the text of the authors, and
    the text of the run.
    """
    for instance, answer in zip(
        pairs.gold[: base.MAX_STORED_INSTANCES], pairs.answers, strict=False
    ):
        given, text = "\n\n".join(instance.inputs), answer.text if answer else ""
        yield base.ShownInstance(
            name=instance.id, given=given, gold=instance.target, answer=text
        )


_HEADING_BY_CONTEXT_TAG = {
    ABSTRACT_TAG: "Abstract of the citing paper",
    CONTEXT_BEFORE_TAG: "Before the citation text",
    CONTEXT_AFTER_TAG: "After the citation text",
}


def read_sources_for_judges(files: Files) -> Mapping[str, base.HeadingsAndTexts]:
    """Return for each instance the text around the citation, and the cited abstracts
    with their citation marks as headings.
    """
    by_instance = {}
    for instance in read_instances(files, with_targets=False):
        shown: list[tuple[str, str]] = []
        cited = itertools.count()
        for item in instance.inputs:
            tag = next(
                (
                    tag
                    for tag in _HEADING_BY_CONTEXT_TAG
                    if item.lstrip().startswith(f"<{tag}>")
                ),
                None,
            )
            heading = (
                f"Cited paper [{next(cited)}]"
                if tag is None
                else _HEADING_BY_CONTEXT_TAG[tag]
            )
            shown.append((heading, remove_context_tags(item).strip() or "(empty)"))
        by_instance[instance.id] = tuple(shown)
    return by_instance


def get_texts_for_judges(run: PredictionsByInstance) -> Mapping[str, str]:
    return {name: prediction.text for name, prediction in run.items()}


def read_reference_texts(files: Files) -> Mapping[str, str]:
    """Return the authors' text of each instance, from the gold."""
    return {
        instance.id: instance.text
        for instance in read_instances(files, with_targets=True)
    }


#: In CiteBench (Funkquist and others, 2023), judges rate readability on five levels.
#: In CiteBench, judges also rate consistency with the gold text on five levels.
#: CiteBench does not describe the levels, so Citeboard uses its own descriptions.
READABILITY_SCALE = base.JudgementScale(
    "How well does the text read, whatever it says?",
    (
        "cannot be understood: broken sentences, or words without an order",
        "hard to follow: many faults, or the same said again and again",
        "can be followed with some effort: faults or jumps in several places",
        "reads well: a fault here or there that does not stop the reader",
        "reads as a careful author would have written it",
    ),
)
CONSISTENCY_SCALE = base.JudgementScale(
    "How far does the text say what the gold text says of the cited papers?",
    (
        "it says something else, or contradicts the gold text",
        "it shares the topic alone, or most of what it says is wrong by the gold text",
        "it says part of it, and leaves out or adds what matters",
        "it says nearly all of it, with small gaps or additions",
        "it says the same, in whatever words",
    ),
)
HUMAN_EVALUATION = base.HumanEvaluation(
    sources=read_sources_for_judges,
    texts=get_texts_for_judges,
    scales={"readability": READABILITY_SCALE},
    references=read_reference_texts,
    reference_scales={"consistency": CONSISTENCY_SCALE},
)
