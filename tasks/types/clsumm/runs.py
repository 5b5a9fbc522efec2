"""Runs for tasks 1A and 1B consist of one file of annotation lines or CSV rows per
topic, or of JSON lines.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from tasks.types.base import Index, Options
from tasks.types.clsumm import citances
from tasks.types.clsumm.annotation import (
    AnnotationSource,
    parse_csv_row,
    read_annotations,
    read_csv_rows,
    strip_marker_offset,
)
from tasks.types.clsumm.options import CALIBRATION_OPTION
from tasks.types.files import Files, InputFile
from tasks.types.guarded.json_reader import read_json
from tasks.types.jsonlines import JSON_LINES_SUFFIXES, JSON_SUFFIXES
from tasks.types.probabilities import InvalidProbabilities, parse_label_probabilities
from tasks.types.problems import (
    InputRefused,
    Problem,
    ProblemList,
    TooManyProblems,
    select_fatal_problems,
    shorten_quoted_line,
)
from tasks.types.run_forms import RunFormatSignature, is_json_without_suffix
from tasks.types.text import (
    describe_json_type,
    is_text_or_integer,
    iterate_json_objects,
)

RUN_FORMS_DESCRIPTION = (
    "annotation lines (`Task1/<topic>.annv3.txt`), CSV (`Task1/<topic>.csv`) "
    "or JSON lines (`.jsonl`)"
)
_ANNOTATION_LINE_FIELDS = (
    b"Reference Article",
    b"Citing Article",
    b"Citation Marker Offset",
    b"Reference Offset",
)
RUN_FORM = RunFormatSignature(
    described=RUN_FORMS_DESCRIPTION,
    keys=(frozenset({"topic", "sentences"}), frozenset({"citing", "sentences"})),
    is_line=lambda line: any(field in line for field in _ANNOTATION_LINE_FIELDS),
)
MAX_SENTENCES_PER_ANSWER = 5
MAX_SPANS_PER_ANSWER = 3
#: A run may contain `MAX_ADDITIONAL_ANSWERS` answers in addition to ten answers per citance.
#: `MAX_ADDITIONAL_ANSWERS` is limited because all answers are in memory.
MAX_ADDITIONAL_ANSWERS = 10_000


@dataclass(frozen=True)
class CitanceRun:
    """The answers of a run to citances (citing sentences). ``topics`` are the topics
    for which the run has a file or a line, even if the file is empty.
    """

    answers: tuple[citances.CitanceAnnotation, ...]
    topics: frozenset[str]

    @cached_property
    def answers_by_topic(self) -> Mapping[str, Sequence[citances.CitanceAnnotation]]:
        return group_answers_by_topic(self.answers)


def group_answers_by_topic(
    answers: Iterable[citances.CitanceAnnotation],
) -> Mapping[str, Sequence[citances.CitanceAnnotation]]:
    """Group the answers of a run by topic. Topics have the order of their first
    answers.
    """
    found: dict[str, list[citances.CitanceAnnotation]] = defaultdict(list)
    for answer in answers:
        found[answer.topic].append(answer)
    return found


def read_run(
    files: Files, index: Index, options: Options
) -> tuple[CitanceRun, list[Problem]]:
    """Return the answers of a run, which are valid only if no problem is fatal, and all
    problems of the files.
    """
    problems = ProblemList()
    answers: list[citances.CitanceAnnotation] = []
    topics: set[str] = set()
    most = MAX_ADDITIONAL_ANSWERS + 10 * sum(
        len(topic["citances"]) for topic in index["topics"].values()
    )
    for file in _iterate_answer_files(files, problems):
        topic = file.stem if file.stem in index["topics"] else None
        before = problems.found
        try:
            read = list(
                _iterate_answers(
                    file, topic, index, problems, options, most - len(answers)
                )
            )
        except InputRefused as refused:
            problems.extend(refused.problems)
            continue
        if not read and topic is None and problems.found == before:
            problems.append(
                file.make_problem("no answers in this file", RUN_FORMS_DESCRIPTION)
            )
        problems.extend(_iterate_answer_warnings(file, read, index, options))
        answers.extend(read)
        topics.update(filter(None, [topic, *(answer.topic for answer in read)]))
    run = CitanceRun(tuple(answers), frozenset(topics))
    if topics & set(index["topics"]) and not select_fatal_problems(problems):
        problems.extend(_iterate_missing_answer_warnings(run, index))
    return run, problems


def filled(run: CitanceRun, index: Index) -> Iterator[bool]:
    """For each answer to a citance of the split, yield True if the answer contains the
    id of a sentence of the paper.
    """
    for answer, known in iterate_answers_to_citances(run, index):
        named = citances.list_real_sentence_ids(answer)
        yield bool(known.intersection(named) if known else named)


def iterate_answers_to_citances(
    run: CitanceRun, index: Index
) -> Iterator[tuple[citances.CitanceAnnotation, set[str]]]:
    """Yield each answer to a citance of the split, with the ids of all sentences in the
    reference paper.
    """
    for topic, answers in run.answers_by_topic.items():
        if topic not in index["topics"]:
            continue
        known = set(index["topics"][topic]["sentences"])
        places = citances.CitanceMatcher.from_index_entry(
            index["topics"][topic]
        ).places([answer.name for answer in answers])
        for answer, place in zip(answers, places, strict=True):
            if place is not None:
                yield answer, known


def _iterate_answer_files(files: Files, problems: list[Problem]) -> Iterator[InputFile]:
    has_answers = False
    for file in files:
        if _is_summary_file(file):
            continue
        is_text = file.suffix in (".txt", ".csv") and not file.stem.lower().startswith(
            "readme"
        )
        if is_text or is_json_run(file, files):
            has_answers = True
            yield file
        elif len(files) == 1:
            problems.append(
                file.make_problem(
                    file.kind_by_suffix,
                    RUN_FORMS_DESCRIPTION,
                )
            )
            return
        else:
            problems.append(
                file.make_problem(
                    "ignored: not a run file", RUN_FORMS_DESCRIPTION, fatal=False
                )
            )
    if not has_answers:
        problems.append(
            Problem(
                message="the input holds no file that can be a run",
                expected=RUN_FORMS_DESCRIPTION,
            )
        )


def _is_summary_file(file: InputFile) -> bool:
    return "Task2" in file.parent_folder_names or ".system." in file.base


def is_json_run(file: InputFile, files: Files) -> bool:
    """Return True for JSON lines, or for a single JSON file. A `.json` file next to
    other files is a by-product of another program.
    """
    return file.suffix in JSON_LINES_SUFFIXES or (
        len(files) == 1 and is_json_file(file)
    )


def is_json_file(file: InputFile) -> bool:
    return file.suffix in JSON_SUFFIXES or is_json_without_suffix(file)


def _iterate_answers(
    file: InputFile,
    topic: str | None,
    index: Index,
    problems: list[Problem],
    options: Options,
    most: int,
) -> Iterator[citances.CitanceAnnotation]:
    """Yield at most ``most`` answers of a file, since a run's answers all stay in
    memory. Raises TooManyProblems.
    """
    if is_json_file(file):
        with_probabilities = options.get(CALIBRATION_OPTION.name) == "yes"
        answers = read_json_answers(
            file, index, problems, with_probabilities=with_probabilities
        )
    elif file.suffix == ".csv":
        answers = (
            parse_csv_row(row, topic)
            for row in read_csv_rows(file, problems, AnnotationSource.RUN)
        )
    else:
        answers = read_annotations(file, topic, problems, AnnotationSource.RUN)
    for number, answer in enumerate(answers, start=1):
        if number > most:
            message = (
                "the run has more answers than the split has citances, many times over"
            )
            raise TooManyProblems(
                [
                    file.make_problem(
                        message, "one answer for each citance", line=answer.line
                    )
                ]
            )
        yield answer


def _iterate_answer_warnings(
    file: InputFile,
    answers: Sequence[citances.CitanceAnnotation],
    index: Index,
    options: Options,
) -> Iterator[Problem]:
    topics = index["topics"]
    for topic, of_topic in group_answers_by_topic(answers).items():
        if topic not in topics:
            message = f"topic {topic} is not in this split"
            for answer in of_topic:
                yield file.make_problem(
                    message,
                    f"one of {join_first_names(topics)}",
                    line=answer.line,
                    fatal=False,
                )
            continue
        lines: dict[int, int] = {}
        places = citances.CitanceMatcher.from_index_entry(topics[topic]).places(
            [answer.name for answer in of_topic]
        )
        for answer, place in zip(of_topic, places, strict=True):
            if place is None:
                message = (
                    f"topic {topic} has no citance {_format_citance_label(answer.name)}"
                )
                yield file.make_problem(
                    message, "a citance of the inputs", line=answer.line, fatal=False
                )
                continue
            if place in lines:
                message = (
                    f"the citance of line {lines[place]} again: the later line counts"
                )
                yield file.make_problem(
                    message, "one line each", line=answer.line, fatal=False
                )
            lines[place] = answer.line
        order = {sid: index for index, sid in enumerate(topics[topic]["sentences"])}
        for answer in of_topic:
            for message, expected, is_fatal in _iterate_answer_doubts(
                answer, order, options
            ):
                yield file.make_problem(
                    message, expected, line=answer.line, fatal=is_fatal
                )


def _iterate_answer_doubts(
    answer: citances.CitanceAnnotation, order: dict[str, int], options: Options
) -> Iterator[tuple[str, str, bool]]:
    """For each doubtful value in an answer, yield a message, the expected value, and
    True if the site must refuse the run.
    """
    named = dict.fromkeys(citances.list_real_sentence_ids(answer))
    unknown = [
        sid
        for sid in citances.list_real_sentence_ids(answer)
        if order and sid not in order
    ]
    if unknown:
        ids = f"ids from {next(iter(order))} to {next(reversed(order))}"
        yield f"{answer.topic} has no sentence {join_first_names(unknown)}", ids, False
    is_fatal = options["over_limit"] == "refuse"
    if len(named) > MAX_SENTENCES_PER_ANSWER:
        yield f"{len(named)} sentences", f"at most {MAX_SENTENCES_PER_ANSWER}", is_fatal
    if (
        order
        and (count := citances.count_contiguous_spans(answer.sentences, order))
        > MAX_SPANS_PER_ANSWER
    ):
        yield f"{count} separate spans", f"at most {MAX_SPANS_PER_ANSWER}", is_fatal
    if named and not answer.is_quoted:
        message = "quotes no sentence or an empty one: the program of 2018 passes the row over"
        yield f"the Reference Text {message}", '`<S sid="…">sentence</S>`', False
    for facet, written in zip(answer.facets, answer.facets_as_written, strict=False):
        if (
            citances.normalise_facet(facet) is None
            and facet not in citances.NO_FACET_VALUES
        ):
            yield (
                f"“{shorten_quoted_line(written)}” is not a facet",
                f"one of {', '.join(citances.FACETS)}",
                False,
            )


def _iterate_missing_answer_warnings(
    run: CitanceRun, index: Index
) -> Iterator[Problem]:
    topics_here = index["topics"]
    if topics := [topic for topic in topics_here if topic not in run.topics]:
        message = f"no answers for {len(topics)} of {len(topics_here)} topics: {join_first_names(topics)}"
        yield Problem(message=message, fatal=False)
    missing = []
    for topic in sorted(run.topics & topics_here.keys()):
        matcher = citances.CitanceMatcher.from_index_entry(topics_here[topic])
        places = set(
            matcher.places(
                [answer.name for answer in run.answers_by_topic.get(topic, ())]
            )
        )
        names = (
            name for index, name in enumerate(matcher.names) if index not in places
        )
        missing += [f"{_format_citance_label(name)} of {topic}" for name in names]
    if missing:
        message = f"{len(missing)} citances of the answered topics have no answer, one is {missing[0]}"
        yield Problem(message=message, fatal=False)


def _format_citance_label(name: citances.CitanceName) -> str:
    number, marker = (
        name.number and f"number {name.number}",
        name.marker and f"marker {name.marker}",
    )
    return ", ".join(filter(None, (number, name.citing, marker)))


def join_first_names(names: Sequence[str] | Mapping[str, object], most: int = 5) -> str:
    listed = list(names)
    return ", ".join(listed[:most]) + (
        f" and {len(listed) - most} more" if len(listed) > most else ""
    )


JSON_ANSWER_EXAMPLE = '{"topic": "C90-2039", "citing": "C92-1059", "marker": "44", "sentences": ["0"], "facets": ["Method"]}'  # noqa: E501


def read_json_answers(
    file: InputFile,
    index: Index,
    problems: list[Problem],
    *,
    with_probabilities: bool = False,
) -> Iterator[citances.CitanceAnnotation]:
    """Yield the answers of one file of JSON lines. Each answer has the name of the
    citance in the gold. Faults of the file become problems.
    """
    answers: list[citances.CitanceAnnotation] = []
    for number, record, raw in iterate_json_objects(file, problems):
        faults, probabilities = list(_find_answer_faults(record)), None
        if with_probabilities:
            try:
                probabilities = parse_label_probabilities(
                    record, citances.FACETS, citances.normalise_facet
                )
            except InvalidProbabilities as refused:
                faults.append((refused.message, refused.expected))
        problems.extend(
            file.make_problem(*fault, line=number, raw=raw) for fault in faults
        )
        if faults:
            continue
        said = [record.get(key) for key in ("topic", "citing", "marker", "citance")]
        topic, citing, marker, citance = (
            "" if value is None else str(value) for value in said
        )
        facets = record.get("facets")
        answers.append(
            citances.CitanceAnnotation(
                topic=topic,
                name=citances.CitanceName(
                    "", citing, strip_marker_offset(marker), citance
                ),
                sentences=tuple(str(sid) for sid in record["sentences"]),
                facets=("none",)
                if facets is None
                else tuple(map(_normalise_facet_name, facets)),
                facets_as_written=() if facets is None else tuple(map(str, facets)),
                texts={},
                line=number,
                probabilities=probabilities,
            )
        )
    names, in_order = _resolve_citance_names(answers, index)
    if in_order:
        message = (
            f"{in_order} lines fit several citances and were matched with them in order"
        )
        problems.append(
            file.make_problem(
                message, "“citing”, “marker” and “citance” on each line", fatal=False
            )
        )
    for answer, name in zip(answers, names, strict=True):
        yield replace(answer, name=name)


def _normalise_facet_name(spelling: object) -> str:
    """Return a bare facet name in the spelling of the annotation files. Unknown facets
    are returned unchanged.
    """
    word = str(spelling).strip().lower().replace(" ", "_")
    bare = citances.normalise_facet(word)
    return f"{bare.lower()}_citation" if bare and "_" not in word else word


def _resolve_citance_names(
    answers: Sequence[citances.CitanceAnnotation], index: Index
) -> tuple[list[citances.CitanceName], int]:
    found, in_order = [answer.name for answer in answers], 0
    of_topic: dict[str, list[int]] = {}
    for number, answer in enumerate(answers):
        of_topic.setdefault(answer.topic, []).append(number)
    for topic, numbers in of_topic.items():
        if topic not in index["topics"]:
            continue
        own = [answers[number] for number in numbers]
        matcher = citances.CitanceMatcher.from_index_entry(index["topics"][topic])
        spelled = {
            remove_file_extensions(name.citing): name.citing for name in matcher.names
        }
        given = [
            (
                one.name,
                spelled.get(remove_file_extensions(one.name.citing), one.name.citing),
            )
            for one in own
        ]
        names = [name._replace(citing=citing) for name, citing in given]
        places = matcher.places(names)
        for number, name, place in zip(numbers, names, places, strict=True):
            found[number] = name if place is None else matcher.names[place]
        in_order += matcher.in_order
    return found, in_order


def remove_file_extensions(name: str) -> str:
    for ending in (".xml", ".txt", ".pdf"):
        name = name.removesuffix(ending)
    return name


def _find_answer_faults(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the faults in the fields of one JSON answer."""
    for key in ("topic", "citing", "marker", "citance"):
        value = record.get(key)
        if value is not None and not is_text_or_integer(value):
            yield f"“{key}” is {describe_json_type(value)}", "a text"
    if record.get("topic") is None:
        yield "“topic” is missing", JSON_ANSWER_EXAMPLE
    if record.get("citance") is None and record.get("citing") is None:
        yield (
            "neither “citance” nor “citing” with “marker” names the citance",
            JSON_ANSWER_EXAMPLE,
        )
    if not _is_list_of_names(record.get("sentences")):
        fault = "missing" if "sentences" not in record else "not a list of sentence ids"
        yield f"“sentences” is {fault}", 'a list such as ["12", "13"]'
    if record.get("facets") is not None and not _is_list_of_names(record["facets"]):
        yield "“facets” is not a list of facets", 'a list such as ["Method"]'


def _is_list_of_names(value: object) -> bool:
    return isinstance(value, list) and all(map(is_text_or_integer, value))


#: `MAX_LINES_SEARCHED` is the maximum number of lines that are searched for a JSON record.
MAX_LINES_SEARCHED = 100
MAX_LINE_BYTES = 1 << 20
#: `MAX_BYTES_SEARCHED` limits the search in all files, because the user waits for the result.
MAX_BYTES_SEARCHED = 64 << 20


def contains_citance_answers(files: Files) -> bool:
    """Return True if a file contains annotation lines, CSV rows or JSON lines about
    citances (citing sentences).
    """
    return any(map(_RunContentProbe(files).is_citance_answers_file, files))


def contains_facet_answers(files: Files) -> bool:
    """Return True if a file about citances mentions a facet within its first lines."""
    look = _RunContentProbe(files)
    citing = filter(look.is_citance_answers_file, files)
    return any(
        look.has_line_matching(file, lambda line: b"facet" in line.lower())
        for file in citing
    )


def contains_summaries(files: Files) -> bool:
    """Return True if a file is a summary, or contains JSON lines with summaries."""
    look = _RunContentProbe(files)
    return any(
        "Task1" not in file.parent_folder_names
        and look.has_record_with_key(file, "summary")
        if is_json_run(file, files)
        else file.suffix == ".txt" and _is_summary_file(file)
        for file in files
    )


@dataclass
class _RunContentProbe:
    files: Files
    left: int = field(default_factory=lambda: MAX_BYTES_SEARCHED)

    def is_citance_answers_file(self, file: InputFile) -> bool:
        if _is_summary_file(file):
            return False
        if is_json_file(file):
            return is_json_run(file, self.files) and self.has_record_with_key(
                file, "sentences"
            )
        if file.suffix not in (".txt", ".csv"):
            return False
        return "Task1" in file.parent_folder_names or self.has_line_matching(
            file, lambda line: b"Citing Article" in line
        )

    def has_record_with_key(self, file: InputFile, key: str) -> bool:
        def is_record_with_key(line: bytes) -> bool:
            with suppress(ValueError):
                record = read_json(line)
                return isinstance(record, dict) and key in record
            return False

        return self.has_line_matching(file, is_record_with_key, most=MAX_LINES_SEARCHED)

    def has_line_matching(
        self, file: InputFile, is_one: Callable[[bytes], bool], most: int | None = None
    ) -> bool:
        """Return True if ``is_one`` returns True for a line of the file, and False if
        the file cannot be read.
        """
        if self.left <= 0:
            return False
        with suppress(InputRefused):
            for number, line in enumerate(file.lines(MAX_LINE_BYTES)):
                self.left -= len(line)
                if self.left < 0 or (most is not None and number >= most):
                    return False
                if is_one(line):
                    return True
        return False
