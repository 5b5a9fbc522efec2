"""Gold summaries of task 2 are of the kinds abstract, community and human. Community
and human summaries may have several annotators.
"""

import hashlib
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, groupby, product
from typing import Any

from tasks.types import base
from tasks.types.clsumm import options as shared, topics as folders
from tasks.types.clsumm.annotation import replace_tags_by_spaces
from tasks.types.clsumm.runs import is_json_file, is_json_run, join_first_names
from tasks.types.files import CHUNK_BYTES, Files, InputFile
from tasks.types.guarded.encodings import detect_kind_of_binary_file
from tasks.types.problems import (
    InputRefused,
    Problem,
    ProblemList,
    raise_if_any_problem_is_fatal,
)
from tasks.types.run_forms import RunFormatSignature
from tasks.types.text import (
    decode_html_entities,
    decode_utf8_or_windows_1252,
    describe_json_type,
    is_list_of_texts,
    iterate_json_objects,
    normalise_to_nfc,
)

SUMMARY_KINDS = ("abstract", "community", "human")
GOLD_LAYOUT_DESCRIPTION = (
    "a topic folder with `summary/<topic>.abstract.txt`, "
    "or a folder or zip of such folders"
)

_SUMMARY_KIND_PATTERN = re.compile(rf"\.({'|'.join(SUMMARY_KINDS)})(?=\.|$)")
#: `_SENTENCE_ELEMENT_START` matches the beginning of an `<S>` element, which ends with `</S>`.
#: The whole content of an `<S>` element, including broken tags, is one sentence.
_SENTENCE_ELEMENT_START = re.compile(r"<S\b", re.IGNORECASE)
_SENTENCE_ELEMENT_END = re.compile("</S>", re.IGNORECASE)
_TAG_PATTERN = re.compile(r"<[^>]*>")


@dataclass(frozen=True)
class ReferenceSummary:
    """One gold summary, as a raw file and as sentences.

    ``raw`` is the content of the unchanged file, including tags. The official program
    reads the raw content. ``lines`` are the sentences of the summary without tags and
    with decoded entities.
    """

    kind: str
    annotator: str
    file: str
    raw: bytes
    lines: tuple[str, ...]

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.raw).hexdigest()

    @property
    def digest_with_unix_line_ends(self) -> str:
        return hashlib.sha256(self.raw.replace(b"\r\n", b"\n")).hexdigest()


@dataclass(frozen=True)
class SummaryTopic:
    """The gold summaries of one reference paper, in the order of file names."""

    name: str
    references: tuple[ReferenceSummary, ...]
    #: `abstract` contains checksums of the word sequences in the paper's abstract.
    #: The checksums detect summaries that copy the abstract.
    abstract: Sequence[int]

    def list_reference_texts_of_kind(self, kind: str) -> list[ReferenceSummary]:
        return [reference for reference in self.references if reference.kind == kind]


def read_gold(files: Files, options: base.Options) -> base.Split:
    """Read the topics (reference papers) that have a gold summary. Raises InputRefused
    if no topic has a summary or a topic occurs twice.
    """
    problems = ProblemList()
    topics: dict[str, SummaryTopic] = {}
    notes = [
        f"ignored, no topic: {folder}"
        for folder in sorted(folders.list_folders_of_ignored_files(files))
    ]
    for folder in folders.group_files_into_topic_folders(files):
        topic = _read_summary_topic(folder, notes)
        if topic is None:
            notes.append(f"ignored, no summary: {folder.shown}")
        elif topic.name in topics:
            problems.append(
                Problem(file=folder.shown, message=f"topic {topic.name} is given twice")
            )
        else:
            topics[topic.name] = topic
    if not topics and not problems:
        shown = files[0].shown if files else ""
        problems.append(
            Problem(
                file=shown,
                message="no summary was found",
                expected=GOLD_LAYOUT_DESCRIPTION,
            )
        )
    raise_if_any_problem_is_fatal(problems)
    content = tuple(topics[name] for name in sorted(topics))
    digest = _compute_summaries_digest(
        content, lambda reference: reference.digest_with_unix_line_ends
    )
    first = _compute_summaries_digest(content, lambda reference: reference.digest)
    return base.Split(
        content=content,
        instances=len(content),
        rows=sum(
            len(reference.lines) for topic in content for reference in topic.references
        ),
        index=_make_summaries_index({topic.name: topic.abstract for topic in content}),
        digest=digest,
        earlier_digests={1: first} if first != digest else {},
        notes=tuple(notes),
    )


def _compute_summaries_digest(
    content: Iterable[SummaryTopic], digest_of: Callable[[ReferenceSummary], str]
) -> str:
    facts = [
        [topic.name, [[r.kind, r.annotator, digest_of(r)] for r in topic.references]]
        for topic in content
    ]
    canonical = json.dumps(facts, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def contents(files: Files, split: base.Split) -> Iterator[tuple[Any, Any]]:
    """Yield each topic's name, which identifies the paper in the public corpus, and the
    topic's summaries.
    """
    for topic in split.content:
        yield (
            topic.name,
            sorted(
                [reference.kind, reference.digest] for reference in topic.references
            ),
        )


def iterate_contents_if_readable(files: Files) -> Iterator[tuple[Any, Any]]:
    with suppress(InputRefused):
        yield from contents(files, read_gold(files, {}))


def _read_summary_topic(
    folder: folders.TopicFolder, notes: list[str]
) -> SummaryTopic | None:
    files = _list_summary_files(folder)
    if not files:
        return None
    name = _find_topic_name(folder, files[0][1])
    references: dict[tuple[str, str], ReferenceSummary] = {}
    for kind, file in files:
        key = kind, folders.get_annotator_name(file, name)
        raw = file.with_windows_1252_fallback().read()
        if key in references:
            notes.append(
                f"{file.shown} ignored: {references[key].file} is the same summary"
            )
        else:
            references[key] = ReferenceSummary(
                *key,
                file.base,
                raw,
                split_summary_into_sentences(decode_utf8_or_windows_1252(raw)),
            )
    return SummaryTopic(
        name, tuple(references.values()), _compute_abstract_checksums(folder, name)
    )


def _list_summary_files(folder: folders.TopicFolder) -> list[tuple[str, InputFile]]:
    files = sorted(
        folder.files("gold/Task2") or folder.files("summary"),
        key=lambda file: file.base,
    )
    kinds = [(_SUMMARY_KIND_PATTERN.search(file.base.lower()), file) for file in files]
    return [(kind[1], file) for kind, file in kinds if kind]


def _find_topic_name(folder: folders.TopicFolder, first: InputFile) -> str:
    if chosen := folders.choose_annotation_files(folder, "auto"):
        return chosen.topic
    papers = folder.papers()
    return (
        papers[0].stem if len(papers) == 1 else folders.find_topic_name(folder, first)
    )


def split_summary_into_sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a summary. Each `<S>` element is a sentence, or each line
    if the summary has no elements.

    Entities are decoded twice, since some gold files encode entities twice
    (`&amp;quot;`). After an element without an end tag, no further elements are read.
    """
    pieces, place = [], 0
    while (tag := _SENTENCE_ELEMENT_START.search(text, place)) and (
        begin := text.find(">", tag.end()) + 1
    ):
        end = _SENTENCE_ELEMENT_END.search(text, begin)
        if end is None:
            break
        pieces.append(replace_tags_by_spaces(_TAG_PATTERN, text[begin : end.start()]))
        place = end.end()
    lines = (
        " ".join(decode_html_entities(decode_html_entities(line)).split())
        for line in pieces or text.split("\n")
    )
    return tuple(line for line in lines if line)


def _compute_abstract_checksums(
    folder: folders.TopicFolder, name: str
) -> Sequence[int]:
    """Return checksums of the paper's abstract, which is public."""
    papers = [file for file in folder.papers() if file.stem == name] or folder.papers()
    sentences = folders.read_sentences(papers[0]) if papers else []
    return compute_word_sequence_checksums(
        sentence.text
        for sentence in sentences
        if sentence.section.lower() == "abstract"
    )


def _make_summaries_index(abstracts: Mapping[str, Sequence[int]]) -> base.Index:
    return {
        "topics": {name: {"abstract": list(lines)} for name, lines in abstracts.items()}
    }


def read_inputs(files: Files, options: base.Options) -> base.Index:
    """Build the index of topics, which validates runs, from the papers in the public
    inputs.
    """
    texts = {}
    for folder in folders.group_files_into_topic_folders(files):
        if folder.papers():
            name = _find_topic_name(folder, folder.papers()[0])
            texts[name] = _compute_abstract_checksums(folder, name)
    if not texts:
        expected = "`<topic>/Reference_XML/<topic>.xml`"
        raise InputRefused([Problem(message="no topic was found", expected=expected)])
    return _make_summaries_index(dict(sorted(texts.items())))


def public_files(files: Files, options: base.Options) -> Iterator[tuple[str, bytes]]:
    """Yield the papers of all topics, and the citances if the inputs contain citances."""
    for folder in folders.group_files_into_topic_folders(files):
        if files_here := _list_summary_files(folder):
            name = _find_topic_name(folder, files_here[0][1])
            yield from folders.iterate_public_files_of_topic(
                folder, name, folders.choose_annotation_files(folder, "auto")
            )


RUN_FORMS_DESCRIPTION = (
    "`Task2/<topic>.system.txt`, one file a topic, or JSON lines (`.jsonl`)"
)
JSON_SUMMARY_EXAMPLE = (
    '{"topic": "C90-2039", "summary": "One sentence.\\nAnother one."}'
)
RUN_FORM = RunFormatSignature(
    described=RUN_FORMS_DESCRIPTION, keys=(frozenset({"topic", "summary"}),)
)
MAX_SUMMARY_WORDS = 250
#: `MAX_SUMMARY_BYTES` is far above the word limit, and scoring remains fast.
MAX_SUMMARY_BYTES = 1 << 16
TOO_LONG_MESSAGE = f"a summary of more than {MAX_SUMMARY_BYTES:,} bytes"
WORD_LIMIT_MESSAGE = f"at most {MAX_SUMMARY_WORDS} words"
REFUSE_LONG_SUMMARIES, TRUNCATE_LONG_SUMMARIES, FLAG_LONG_SUMMARIES = (
    "refuse",
    "truncate",
    "flag",
)


@dataclass(frozen=True)
class SystemSummary:
    """A system's summary of one topic. The official program reads the bytes of the
    summary. ROUGE-L treats each line of the summary as a sentence.
    """

    topic: str
    raw: bytes
    file: str
    line: int | None

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(decode_utf8_or_windows_1252(self.raw).split("\n"))

    @property
    def words(self) -> int:
        return len(decode_utf8_or_windows_1252(self.raw).split())


def cut_lines_at_word_limit(lines: Iterable[str]) -> list[str]:
    """Return the lines of a summary, cut off after ``MAX_SUMMARY_WORDS`` words."""
    kept, left = [], MAX_SUMMARY_WORDS
    for line in lines:
        words = line.split()[:left]
        left -= len(words)
        kept.append(" ".join(words))
    return kept


#: `SystemSummariesByTopic` contains the summaries of a run by topic.
SystemSummariesByTopic = Mapping[str, SystemSummary]


def read_run(
    files: Files, index: base.Index, options: base.Options
) -> tuple[SystemSummariesByTopic, list[Problem]]:
    """Return the summaries of a run, and all problems of the files."""
    problems = ProblemList()
    summaries: dict[str, SystemSummary] = {}
    for file in _iterate_run_files(files, problems):
        for summary in _iterate_system_summaries(file, problems):
            if summary.topic in summaries:
                message = f"topic {summary.topic} again: the later summary counts"
                problems.append(
                    _make_summary_warning(summary, message, "one summary a topic")
                )
            summaries[summary.topic] = summary
            problems.extend(_iterate_summary_warnings(summary, index, options))
    topics = index["topics"]
    missing = [topic for topic in topics if topic not in summaries]
    if 0 < len(missing) < len(topics):
        message = f"no summary for {len(missing)} of {len(topics)} topics: {join_first_names(missing)}"
        problems.append(Problem(message=message, fatal=False))
    return summaries, problems


def filled(run: SystemSummariesByTopic, index: base.Index) -> Iterable[bool]:
    return (
        summary.words > 0 for topic, summary in run.items() if topic in index["topics"]
    )


def _iterate_run_files(files: Files, problems: list[Problem]) -> Iterator[InputFile]:
    readable = False
    for file in files:
        is_text = file.suffix == ".txt" and (".system." in file.base or len(files) == 1)
        if (
            is_text or is_json_run(file, files)
        ) and "Task1" not in file.parent_folder_names:
            readable = True
            yield file
        elif file.suffix == ".txt" and "Task2" in file.parent_folder_names:
            message = "ignored: its name does not say that it is a system's summary"
            problems.append(
                file.make_problem(message, RUN_FORMS_DESCRIPTION, fatal=False)
            )
    if not readable:
        shown = files[0].shown if len(files) == 1 else ""
        problems.append(
            Problem(
                file=shown,
                message="no file that can be a summary",
                expected=RUN_FORMS_DESCRIPTION,
            )
        )


def _iterate_system_summaries(
    file: InputFile, problems: list[Problem]
) -> Iterator[SystemSummary]:
    try:
        if not is_json_file(file):
            yield SystemSummary(
                file.stem, _read_bounded_summary(file), file.shown, None
            )
            return
        for number, record, raw in iterate_json_objects(file, problems):
            topic, summary = record.get("topic"), record.get("summary")
            faults = []
            if not isinstance(topic, str):
                faults.append(
                    f"“topic” is {describe_json_type(topic) if 'topic' in record else 'missing'}"
                )
            if is_list_of_texts(summary):
                summary = "\n".join(" ".join(line.split()) for line in summary)
            if "summary" not in record:
                faults.append("“summary” is missing")
            elif not isinstance(summary, str):
                faults.append(
                    f"“summary” is {describe_json_type(summary)}, not a text or a list of sentences"
                )
            problems.extend(
                file.make_problem(fault, JSON_SUMMARY_EXAMPLE, line=number, raw=raw)
                for fault in faults
            )
            text = str(summary).encode("utf-8", "replace")
            if not faults and len(text) < MAX_SUMMARY_BYTES:
                yield SystemSummary(str(topic), text, file.shown, number)
            elif not faults:
                problems.append(
                    file.make_problem(
                        TOO_LONG_MESSAGE, WORD_LIMIT_MESSAGE, line=number, raw=raw
                    )
                )
    except InputRefused as refused:
        problems.extend(refused.problems)


def _read_bounded_summary(file: InputFile) -> bytes:
    raw = b""
    for chunk in file.with_windows_1252_fallback().iterate_blocks_of_lines(CHUNK_BYTES):
        raw += chunk
        if len(raw) >= MAX_SUMMARY_BYTES:
            raise InputRefused(
                [file.make_problem(TOO_LONG_MESSAGE, WORD_LIMIT_MESSAGE)]
            )
    if kind := detect_kind_of_binary_file(raw):
        raise InputRefused(
            [
                file.make_problem(
                    f"this is {kind}, which is no summary", WORD_LIMIT_MESSAGE
                )
            ]
        )
    return raw


def _iterate_summary_warnings(
    summary: SystemSummary, index: base.Index, options: base.Options
) -> Iterator[Problem]:
    topics = index["topics"]
    if summary.topic not in topics:
        yield _make_summary_warning(
            summary,
            f"topic {summary.topic} is not in this split",
            f"one of {join_first_names(topics)}",
        )
        return
    if not summary.words:
        yield _make_summary_warning(
            summary, f"the summary of {summary.topic} is empty", "a summary"
        )
    if summary.words > MAX_SUMMARY_WORDS:
        cut = (
            "; under the corrected rules it is cut there"
            if options["over_limit"] == TRUNCATE_LONG_SUMMARIES
            else ""
        )
        message = f"{summary.words} words for {summary.topic}{cut}"
        yield _make_summary_warning(
            summary,
            message,
            WORD_LIMIT_MESSAGE,
            is_fatal=options["over_limit"] == REFUSE_LONG_SUMMARIES,
        )
    share = compute_shared_checksum_share(
        compute_word_sequence_checksums(summary.lines),
        topics[summary.topic]["abstract"],
    )
    if share >= MIN_COPIED_SHARE:
        message = f"the summary of {summary.topic} copies the abstract, which is one of the gold summaries"
        yield _make_summary_warning(
            summary, f"{message} ({share:.0%})", "a summary of the paper's own making"
        )


def _make_summary_warning(
    summary: SystemSummary, message: str, expected: str, *, is_fatal: bool = False
) -> Problem:
    return Problem(
        file=summary.file,
        line=summary.line,
        message=message,
        expected=expected,
        fatal=is_fatal,
    )


#: Different texts rarely share a sequence of `WORDS_PER_CHECKSUM` words by chance.
WORDS_PER_CHECKSUM = 5
#: A summary is a copy if the abstract contains most of the summary's word sequences.
#: A summary that is longer than the abstract is a copy if it contains most of it.
#: From the share `MIN_COPIED_SHARE` on, the summary is a copy of the abstract.
MIN_COPIED_SHARE = 0.8

_WORD_PATTERN = re.compile(r"[a-z0-9]+")


def compute_word_sequence_checksums(lines: Iterable[str]) -> list[int]:
    """Return a sorted list of distinct checksums, one checksum per sequence of five
    words in the lines.

    The index of a split stores checksums instead of text. Collisions of checksums are
    too rare to change a result.
    """
    words = _WORD_PATTERN.findall(" ".join(lines).lower())
    runs = zip(*(words[start:] for start in range(WORDS_PER_CHECKSUM)), strict=False)
    return sorted({zlib.crc32(" ".join(run).encode()) for run in runs})


def compute_shared_checksum_share(
    summary: Sequence[int], abstract: Sequence[int]
) -> float:
    """Return the share of the shorter list of checksums that the longer list also
    contains, from 0 to 1. Return 0 if either list of checksums is empty.
    """
    shorter = min(len(summary), len(abstract))
    return len(set(summary) & set(abstract)) / shorter if shorter else 0.0


def read_sources_for_judges(files: Files) -> Mapping[str, base.HeadingsAndTexts]:
    """Return the text of each topic's paper for human judges, from the public inputs."""
    by_topic = {}
    for topic in folders.read_input_topics(
        files, {"annotation": "auto"}, with_papers_alone=True
    ):
        shown = [
            (
                section or "Without a heading",
                " ".join(sentence.text for sentence in sentences),
            )
            for section, sentences in groupby(
                topic.sentences, key=lambda sentence: sentence.section
            )
        ]
        if topic.citances:
            cited = "\n\n".join(citance.text for citance in topic.citances)
            shown.insert(0, ("What later papers say where they cite it", cited))
        by_topic[topic.name] = tuple(shown)
    return by_topic


def get_texts_for_judges(run: SystemSummariesByTopic) -> Mapping[str, str]:
    return {
        name: decode_utf8_or_windows_1252(summary.raw).strip()
        for name, summary in run.items()
    }


HUMAN_EVALUATION = base.HumanEvaluation(
    sources=read_sources_for_judges, texts=get_texts_for_judges
)


OVER_LIMIT_OPTION = base.Option(
    name="over_limit",
    default=FLAG_LONG_SUMMARIES,
    summary=f"A summary of more than {MAX_SUMMARY_WORDS} words is refused or flagged, "
    "or by corrected rules cut.",
    choices=(FLAG_LONG_SUMMARIES, TRUNCATE_LONG_SUMMARIES, REFUSE_LONG_SUMMARIES),
)
ANNOTATOR_RANGE_OPTION = base.Option.yes_or_no(
    "annotator_range",
    "Also what the official value would be, had the directory listing ended with the annotator who "
    "gives the least or the most.",
)
_TAG_IN_BYTES = re.compile(rb"<[^>]*>")


@dataclass(frozen=True)
class EncodedSummaryLines:
    """The lines of a system's summary in the form that ROUGE reads."""

    lines: Sequence[bytes]

    def normalise_to_nfc(self) -> "EncodedSummaryLines":
        return EncodedSummaryLines(_normalise_lines_to_nfc(self.lines))


def _normalise_lines_to_nfc(lines: Iterable[bytes]) -> list[bytes]:
    """Return the lines of a summary in the Unicode normal form NFC."""
    return [
        line
        if line.isascii()
        else normalise_to_nfc(decode_utf8_or_windows_1252(line)).encode()
        for line in lines
    ]


@dataclass(frozen=True)
class GoldSummaries:
    """The gold summaries of a topic with their kinds. Each summary is a list of lines
    in the form that ROUGE reads.
    """

    references: Sequence[tuple[str, Sequence[bytes]]]

    def list_reference_texts_of_kind(self, kind: str | None) -> list[Sequence[bytes]]:
        """Return the gold summaries of a kind, or all if ``kind`` is None, in the order
        of the file names.
        """
        return [lines for which, lines in self.references if kind in (None, which)]

    def normalise_to_nfc(self) -> "GoldSummaries":
        references = [
            (kind, _normalise_lines_to_nfc(lines)) for kind, lines in self.references
        ]
        return GoldSummaries(references)


def make_gold_summaries(
    topic: SummaryTopic, rules: str, options: base.Options
) -> GoldSummaries:
    """Return the gold summaries of a topic. The official program reads the unchanged
    files of summaries. Rule sets that are not official read the extracted sentences of
    summaries.
    """

    def make_reference_lines(reference: ReferenceSummary) -> Sequence[bytes]:
        if rules != shared.OFFICIAL_2018:
            return [line.encode() for line in reference.lines]
        raw = (
            _TAG_IN_BYTES.sub(b" ", reference.raw)
            if options["program"] == "python3"
            else reference.raw
        )
        return raw.split(b"\n")

    return GoldSummaries(
        [
            (reference.kind, make_reference_lines(reference))
            for reference in topic.references
        ]
    )


def make_summary_lines_for_scoring(
    summary: SystemSummary, rules: str, options: base.Options
) -> EncodedSummaryLines:
    if rules == shared.OFFICIAL_2018:
        return EncodedSummaryLines(summary.raw.split(b"\n"))
    cut = rules == base.CORRECTED and options["over_limit"] == TRUNCATE_LONG_SUMMARIES
    return EncodedSummaryLines(
        [
            line.encode()
            for line in (
                cut_lines_at_word_limit(summary.lines) if cut else summary.lines
            )
        ]
    )


def pair(
    split: base.Split, run: SystemSummariesByTopic, rules: str, options: base.Options
) -> base.Pairs:
    """Return one row of gold and answer per topic. The official program includes only
    topics that the run answers.
    """
    topics: Sequence[SummaryTopic] = split.content
    gold_names = {topic.name for topic in topics}
    missing, others = len(gold_names - run.keys()), len(run.keys() - gold_names)
    notes = {"missing_topics": missing, "answers_to_other_topics": others}
    notes |= dict.fromkeys(
        ("empty_summaries", "over_the_limit", "copies_of_the_abstract"), 0
    )
    if rules == shared.OFFICIAL_2018:
        topics = [topic for topic in topics if topic.name in run]
    names = [topic.name for topic in topics]
    answers = [run.get(name) for name in names]
    for topic, summary in zip(topics, answers, strict=True):
        if summary is not None:
            notes["empty_summaries"] += not summary.words
            notes["over_the_limit"] += summary.words > MAX_SUMMARY_WORDS
            # A summary is compared with the abstract among the gold summaries.
            # Corpora may contain another version of the abstract in the paper itself.
            prints = compute_word_sequence_checksums(summary.lines)
            abstracts = (
                compute_word_sequence_checksums(reference.lines)
                for reference in topic.list_reference_texts_of_kind("abstract")
            )
            copied = any(
                compute_shared_checksum_share(prints, abstract) >= MIN_COPIED_SHARE
                for abstract in abstracts
            )
            notes["copies_of_the_abstract"] += copied
    gold = [make_gold_summaries(topic, rules, options) for topic in topics]
    lines = [
        summary and make_summary_lines_for_scoring(summary, rules, options)
        for summary in answers
    ]
    if split.reading > 1 and not base.is_official_rule_set(rules):
        gold, lines = (
            [one.normalise_to_nfc() for one in gold],
            [line and line.normalise_to_nfc() for line in lines],
        )
    return base.Pairs(
        gold=gold,
        answers=lines,
        units=names,
        features={"topic": [(name,) for name in names]},
        names=names,
        notes={**notes, **shared.make_missing_stopwords_note(rules, options)},
    )


def further_metrics(rules: str, options: base.Options) -> shared.MetricRefs:
    if rules != shared.OFFICIAL_2018 or options[ANNOTATOR_RANGE_OPTION.name] == "no":
        return ()
    ways = product(("2", "su_star"), SUMMARY_KINDS[1:], ("least", "most"))
    metrics = (
        shared.make_pooled_rouge_metrics(measure, kind, parts=["f1"], end=end)
        for measure, kind, end in ways
    )
    return tuple(chain.from_iterable(metrics))


RULES = {
    base.CORRECTED: tuple(
        metric
        for measure in ("2", "1", "l", "su4")
        for kind in ("", *SUMMARY_KINDS)
        for metric in shared.make_rouge_metrics(
            measure, OVER_LIMIT_OPTION.name, order="document", parts=["f1"], kind=kind
        )
    ),
    shared.OFFICIAL_2014: tuple(
        metric
        for kind in (*SUMMARY_KINDS, "")
        for metric in shared.make_rouge_metrics(
            "l", order="listed", parts=["f1"], kind=kind
        )
    ),
    shared.OFFICIAL_2018: tuple(
        metric
        for measure in ("2", "su_star")
        for kind in (*SUMMARY_KINDS, "")
        for metric in shared.make_pooled_rouge_metrics(measure, kind)
    ),
}
OPTIONS = (
    OVER_LIMIT_OPTION,
    shared.STOPWORDS_OPTION,
    shared.PROGRAM_OPTION,
    ANNOTATOR_RANGE_OPTION,
    base.ENGINE,
)
DIMENSIONS = ("topic",)


def show_instances(
    files: Files, split: base.Split, pairs: base.Pairs, options: base.Options
) -> Iterator[base.ShownInstance]:
    """Yield for each topic the beginning of the reference paper, all gold summaries
    under their kinds, and the run's summary.
    """
    topics = folders.read_input_topics(
        files, {"annotation": "auto", **options}, with_papers_alone=True
    )
    papers = {
        topic.name: " ".join(sentence.text for sentence in topic.sentences)
        for topic in topics
    }
    for name, [row] in base.group_row_numbers_by_instance(pairs.names).items():
        gold = "\n\n".join(
            f"{kind}:\n{_join_summary_lines(lines)}"
            for kind, lines in pairs.gold[row].references
        )
        answer = (
            _join_summary_lines(pairs.answers[row].lines) if pairs.answers[row] else ""
        )
        yield base.ShownInstance(
            name=name, given=papers.get(name, ""), gold=gold, answer=answer
        )


def _join_summary_lines(lines: Sequence[bytes]) -> str:
    return "\n".join(
        text for line in lines if (text := decode_utf8_or_windows_1252(line).strip())
    )
