"""Topics of tasks 1A and 1B, which contain a reference paper and the citances (citing
sentences) of each annotator.
"""

import csv
import hashlib
import io
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import Any

from tasks.types.base import Index, Options, Split
from tasks.types.clsumm import annotation as reading, citances as cited
from tasks.types.files import Files, InputFile
from tasks.types.problems import (
    InputRefused,
    Problem,
    ProblemList,
    raise_if_any_problem_is_fatal,
)
from tasks.types.text import decode_html_entities, decode_utf8_or_windows_1252


@dataclass(frozen=True)
class AnnotatorGoldFile:
    """The citances of one annotator. ``annotator`` is empty if the corpus does not name
    the annotator of the citances.
    """

    annotator: str
    citances: tuple[cited.CitanceAnnotation, ...]


@dataclass(frozen=True)
class ClsummTopic:
    """One reference paper, the citances (citing sentences) of the paper, and their
    gold.

    ``asked`` are the citances (citing sentences) in the public inputs. ``sentences``
    are the sentences of the paper, or empty if the paper is missing.
    """

    name: str
    files: tuple[AnnotatorGoldFile, ...]
    asked: tuple[cited.CitanceName, ...]
    sentences: "tuple[PaperSentence, ...]"

    @cached_property
    def order(self) -> dict[str, int]:
        """Return the position of each sentence id in the paper. If an id occurs twice,
        the position is that of the first occurrence.
        """
        return {
            sentence.sid: place
            for place, sentence in reversed(list(enumerate(self.sentences)))
        }

    @cached_property
    def sections(self) -> dict[str, str]:
        return {sid: self.sentences[place].section for sid, place in self.order.items()}


def read_topics(
    files: Files,
    options: Options,
    source: reading.AnnotationSource = reading.AnnotationSource.GOLD,
) -> tuple[ClsummTopic, ...]:
    """Return all topics (reference papers), sorted by name. Raises InputRefused with
    all problems, such as a topic that occurs twice.
    """
    problems = ProblemList()
    topics: dict[str, ClsummTopic] = {}
    for folder in group_files_into_topic_folders(files):
        chosen = choose_annotation_files(folder, options["annotation"], source)
        if chosen and chosen.topic in topics:
            problems.append(
                Problem(
                    file=folder.shown, message=f"topic {chosen.topic} is given twice"
                )
            )
        elif chosen:
            topics[chosen.topic] = _read_topic(chosen, folder, problems, source)
    if not topics and not problems:
        shown = files[0].shown if files else ""
        problems.append(
            Problem(
                file=shown,
                message="no topic was found",
                expected=GOLD_LAYOUT_DESCRIPTION,
            )
        )
    raise_if_any_problem_is_fatal(problems)
    return tuple(topics[name] for name in sorted(topics))


def _read_topic(
    chosen: "ChosenAnnotationFiles",
    folder: "TopicFolder",
    problems: list[Problem],
    source: reading.AnnotationSource,
) -> ClsummTopic:
    papers = folder.papers()
    named = [file for file in papers if file.stem == chosen.topic] or papers
    sentences = tuple(read_sentences(named[0])) if named else ()
    if chosen.version == CSV:
        rows = [
            list(reading.read_csv_rows(file, problems, source))
            for _, file in chosen.files
        ]
        files = []
        for (name, _), of_annotator in zip(chosen.files, rows, strict=True):
            found = [reading.parse_csv_row(row, chosen.topic) for row in of_annotator]
            files.append(
                AnnotatorGoldFile(
                    name,
                    cited.mark_last_line_of_each_key(found, cited.get_citance_key_2018),
                )
            )
        all_citances = (citance for file in files for citance in file.citances)
        if source is reading.AnnotationSource.GOLD and not any(
            map(cited.has_reference_sentence, all_citances)
        ):
            problems.append(
                Problem(
                    file=chosen.files[0][1].shown, message="no row names a sentence"
                )
            )
        citances = tuple(row.name for row in select_rows_with_reference(rows, source))
    else:
        lines = list(
            reading.read_annotations(chosen.files[0][1], chosen.topic, problems, source)
        )
        files = [
            AnnotatorGoldFile(
                "", cited.mark_last_line_of_each_key(lines, cited.get_citance_key_2017)
            )
        ]
        citances = tuple(line.name for line in lines)
    return ClsummTopic(chosen.topic, tuple(files), citances, sentences)


def select_rows_with_reference(
    files: Sequence[Sequence[reading.CsvAnnotationRow]],
    source: reading.AnnotationSource,
) -> list[reading.CsvAnnotationRow]:
    """Return one row for each citance for which any annotator found a reference, in the
    order of the first annotator's file.

    Annotators may number the same citance (citing sentence) differently. Rows of
    annotators with the same text are therefore one citance.
    """
    by_key: dict[tuple[str, str, str, int], reading.CsvAnnotationRow] = {}
    for rows in files:
        seen: Counter[tuple[str, str, str]] = Counter()
        for row in rows:
            name = row.name
            key = (
                name.citing,
                name.marker,
                row.values.get("Citation Text", "") or name.number,
            )
            seen[key] += 1
            if (
                source is reading.AnnotationSource.INPUTS
                or cited.has_reference_sentence(reading.parse_csv_row(row, None))
            ):
                by_key.setdefault((*key, seen[key]), row)
    return list(by_key.values())


def read_gold(files: Files, options: Options) -> Split:
    """Read the topics of the gold and build the index, which validates runs and
    contains no gold.
    """
    topics = read_topics(files, options)
    chosen = [
        (folder.shown, choose_annotation_files(folder, options["annotation"]))
        for folder in group_files_into_topic_folders(files)
    ]
    others = list_folders_of_ignored_files(files).union(
        shown for shown, found in chosen if found is None
    )
    # The digest includes all data of a topic that can change a score.
    # The digest does not depend on the order of lines, which cannot change scores.
    content = [
        [
            topic.name,
            [
                [file.annotator, sorted(map(cited.make_digest_values, file.citances))]
                for file in topic.files
            ],
            [
                [sentence.sid, sentence.text, sentence.section]
                for sentence in topic.sentences
            ],
        ]
        for topic in topics
    ]
    canonical = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    unchecked = [topic.name for topic in topics if not topic.sentences]
    return Split(
        content=topics,
        instances=sum(len(topic.asked) for topic in topics),
        rows=sum(len(file.citances) for topic in topics for file in topic.files),
        index=_make_topics_index(topics),
        digest=hashlib.sha256(canonical.encode()).hexdigest(),
        notes=(
            *(f"ignored, no topic: {folder}" for folder in sorted(others)),
            *(
                f"topic {name} has no Reference_XML: sentence ids are not checked"
                for name in unchecked
            ),
        ),
    )


def contents(files: Files, split: Split) -> Iterator[tuple[Any, Any]]:
    """Yield each citance (citing sentence) and the annotations of all annotators."""
    for topic in split.content:
        found: dict[tuple[str, str], list[Any]] = defaultdict(list)
        for file in topic.files:
            for citance in file.citances:
                found[citance.name.citing, citance.name.marker].append(
                    cited.make_digest_values(citance)[len(citance.name) :]
                )
        for name in topic.asked:
            yield name[:3], sorted(found[name.citing, name.marker], key=json.dumps)


def unreachable(files: Files, split: Split) -> Iterator[str]:
    """Yield unknown facets, and sentence ids that do not occur in the paper. Sentence
    ids are not checked if the paper is missing.
    """
    for topic in split.content:
        for one in (citance for file in topic.files for citance in file.citances):
            odd = [
                name
                for name in one.facets
                if not (cited.normalise_facet(name) or name in cited.NO_FACET_VALUES)
            ]
            if topic.sentences:
                odd += [
                    sid
                    for sid in cited.list_real_sentence_ids(one)
                    if sid not in topic.order
                ]
            yield from (
                f"{topic.name}, {one.name.citing} {one.name.marker}: {name}"
                for name in odd
            )


def iterate_contents_if_readable(files: Files) -> Iterator[tuple[Any, Any]]:
    with suppress(InputRefused):
        yield from contents(files, read_gold(files, {"annotation": "auto"}))


def read_inputs(files: Files, options: Options) -> Index:
    """Build the index, which validates runs, from the public inputs."""
    return _make_topics_index(
        read_topics(files, options, reading.AnnotationSource.INPUTS)
    )


def _make_topics_index(topics: Sequence[ClsummTopic]) -> Index:
    entries = {}
    for topic in topics:
        sentences = [sentence.sid for sentence in topic.sentences]
        entries[topic.name] = {
            "citances": list(map(list, topic.asked)),
            "sentences": sentences,
        }
    return {"topics": entries}


def public_files(files: Files, options: Options) -> Iterator[tuple[str, bytes]]:
    """Yield the unchanged papers, and the citances (citing sentences) without reference
    and facet.
    """
    for folder in group_files_into_topic_folders(files):
        if chosen := choose_annotation_files(folder, options["annotation"]):
            yield from iterate_public_files_of_topic(folder, chosen.topic, chosen)


def iterate_public_files_of_topic(
    folder: "TopicFolder", topic: str, chosen: "ChosenAnnotationFiles | None"
) -> Iterator[tuple[str, bytes]]:
    for kind in ("Reference_XML", "Citance_XML"):
        for file in folder.papers(kind):
            yield (
                f"{topic}/{kind}/{file.base}",
                file.with_windows_1252_fallback().read(),
            )
    if chosen and chosen.version == CSV:
        rows = [
            list(reading.read_csv_rows(file, [], reading.AnnotationSource.GOLD))
            for _, file in chosen.files
        ]
        columns, written = (
            [*reading.PUBLIC_CSV_COLUMNS, *reading.ANSWER_CSV_COLUMNS],
            io.StringIO(),
        )
        writer = csv.DictWriter(written, columns, lineterminator="\n")
        writer.writeheader()
        for row in select_rows_with_reference(rows, reading.AnnotationSource.GOLD):
            writer.writerow(
                {name: row.values.get(name, "") for name in reading.PUBLIC_CSV_COLUMNS}
            )
        yield f"{topic}/annotation/{topic}.csv", written.getvalue().encode()
    elif chosen:
        lines = reading.iterate_public_lines(chosen.files[0][1])
        yield f"{topic}/annotation/{topic}.annv3.txt", "\n\n".join(lines).encode()


#: `ANNOTATION_VERSIONS` lists the versions of annotation files, the preferred version first.
#: Files of the version `ann` have sentence ids only in later releases of the corpus.
ANNOTATION_VERSIONS = ("annv3", "ann", "annv2")
CSV = "csv"
GOLD_LAYOUT_DESCRIPTION = (
    "a topic folder with `annotation/<topic>.annv3.txt`, "
    "or a folder or zip of such folders"
)
TOPIC_SUBFOLDERS = ("annotation", "Reference_XML", "Citance_XML", "summary")


@dataclass(frozen=True)
class TopicFolder:
    """The files of one topic (reference paper). ``inside`` maps each folder within the
    topic to the files in the folder.
    """

    shown: str
    inside: Mapping[str, Files]

    def files(self, part: str) -> Files:
        return self.inside.get(part, ())

    def papers(self, part: str = "Reference_XML") -> list[InputFile]:
        return [file for file in self.files(part) if file.suffix == ".xml"]


@dataclass(frozen=True)
class ChosenAnnotationFiles:
    """The annotation files of a topic. If the topic has several annotation files, each
    file has the name of an annotator.
    """

    topic: str
    version: str
    files: Sequence[tuple[str, InputFile]]


def split_path_into_topic_and_subfolder(name: str) -> tuple[str, str] | None:
    """Return the topic folder of a file and the folder within the topic, or None if the
    file belongs to no topic.
    """
    parts = name.split("/")
    for depth, part in enumerate(parts[:-1]):
        if part in TOPIC_SUBFOLDERS:
            return "/".join(parts[:depth]), part
        if (
            part == "gold"
            and parts[depth + 1] in ("Task1", "Task2")
            and depth + 2 < len(parts)
        ):
            return "/".join(parts[:depth]), f"gold/{parts[depth + 1]}"
    return None


def is_topic_file(name: str) -> bool:
    return split_path_into_topic_and_subfolder(name) is not None


def group_files_into_topic_folders(files: Files) -> list[TopicFolder]:
    """Return the topic folders of an input, sorted by name."""
    folders: dict[str, dict[str, list[InputFile]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for file in files:
        if place := split_path_into_topic_and_subfolder(file.name):
            # Two inputs may contain folders with the same name.
            # The displayed path of a file begins with the name of the input.
            folders[file.shown.removesuffix(file.name.removeprefix(place[0]))][
                place[1]
            ].append(file)
    return [TopicFolder(shown, inside) for shown, inside in sorted(folders.items())]


def list_folders_of_ignored_files(files: Files) -> set[str]:
    """Return the folders of all files that do not belong to a topic."""
    return {
        file.shown.removesuffix(f"/{file.base}")
        for file in files
        if not is_topic_file(file.name)
    }


def choose_annotation_files(
    folder: TopicFolder,
    wanted: str,
    source: reading.AnnotationSource = reading.AnnotationSource.GOLD,
) -> ChosenAnnotationFiles | None:
    """Return the annotation files of a topic. With `auto`, the newest version of
    annotation lines is preferred, and the CSV form is used if there are no annotation
    lines.

    In the CSV form, the annotation consists of the files under `gold`, one per
    annotator. If no file is under `gold`, and for inputs, the file under `annotation`
    is used.
    """
    for version in (*ANNOTATION_VERSIONS, CSV) if wanted == "auto" else (wanted,):
        if version == CSV:
            files = (
                folder.files("gold/Task1")
                if source is reading.AnnotationSource.GOLD
                else []
            )
            files = [
                file
                for file in files or folder.files("annotation")
                if file.suffix == ".csv"
            ]
            topic = find_topic_name(folder, files[0]) if files else ""
            return (
                ChosenAnnotationFiles(
                    topic,
                    CSV,
                    [(get_annotator_name(file, topic), file) for file in files],
                )
                if files
                else None
            )
        for file in folder.files("annotation"):
            if file.name.endswith(f".{version}.txt"):
                return ChosenAnnotationFiles(file.stem, version, [("", file)])
    return None


def find_topic_name(folder: TopicFolder, file: InputFile) -> str:
    """Return the topic of a file, which is the file name without the annotator's name
    after the underscore.
    """
    names = {paper.stem for paper in folder.papers()} | {
        folder.shown.rpartition("/")[2]
    }
    fits = [
        name for name in names if file.stem == name or file.stem.startswith(f"{name}_")
    ]
    return max(fits, key=len) if fits else file.stem.partition("_")[0]


def get_annotator_name(file: InputFile, topic: str) -> str:
    return (
        file.stem.removeprefix(topic).removeprefix("_")
        if file.stem.startswith(topic)
        else ""
    )


TITLE = "Title"
_XML_TAG_PATTERN = re.compile(r"<(/?)\s*+([A-Za-z]++)([^<>]*+)>")
_XML_ATTRIBUTE_PATTERN = re.compile(r"(?<!\w)(\w++)\s*+=\s*+(?:\"([^\"]*)\"|'([^']*)')")


@dataclass(frozen=True)
class PaperSentence:
    """One sentence of a paper with id and section.

    The id ``sid`` is unique in the paper. ``section`` is the title of the sentence's
    section, or ``Title`` for the title of the paper.
    """

    sid: str
    text: str
    section: str


def read_sentences(file: InputFile) -> list[PaperSentence]:
    """Return the sentences of a paper in order, with entities decoded.

    A scanner reads the tags instead of an XML parser, because some released papers have
    unclosed elements, mixed encodings, or blanks around equals signs. The scanner
    returns every sentence of papers with faulty markup.
    """
    content = file.with_windows_1252_fallback().read()
    if b"\0" in content:
        raise InputRefused(
            [
                file.make_problem(
                    "not a text in UTF-8: it holds a NUL", "a paper in UTF-8"
                )
            ]
        )
    text = decode_utf8_or_windows_1252(content)
    sentences: list[PaperSentence] = []
    section = TITLE
    tags = list(_XML_TAG_PATTERN.finditer(text))
    for here, following in zip_longest(tags, tags[1:]):
        closing, name = here[1], here[2].upper()
        if closing:
            continue
        if name in ("SECTION", "ABSTRACT"):
            section = _parse_attributes(here[3]).get(
                "title", "Abstract" if name == "ABSTRACT" else ""
            )
        elif name == "S":
            inside = text[here.end() : following.start() if following else len(text)]
            sid = _parse_attributes(here[3]).get("sid", str(len(sentences)))
            sentences.append(
                PaperSentence(sid, decode_html_entities(inside).strip(), section)
            )
    return sentences


def _parse_attributes(text: str) -> dict[str, str]:
    return {
        match[1]: decode_html_entities(match[2] or match[3] or "")
        for match in _XML_ATTRIBUTE_PATTERN.finditer(text)
    }


@dataclass(frozen=True)
class InputCitance:
    """A citance (citing sentence) in the public inputs.

    ``offsets`` are the ids of the citance's sentences in the citing paper, if
    available. ``marker`` is the citation mark in the text of the citing paper.
    """

    name: cited.CitanceName
    text: str
    offsets: tuple[str, ...]
    marker: str = ""


@dataclass(frozen=True)
class InputTopic:
    """A reference paper, the citances (citing sentences) of the reference paper, and
    the citing papers. The sentences of citing papers are read on first use.
    """

    name: str
    sentences: tuple[PaperSentence, ...]
    citances: tuple[InputCitance, ...]
    citing: tuple[InputFile, ...] = ()

    @cached_property
    def papers(self) -> Mapping[str, Sequence[PaperSentence]]:
        return {file.stem: read_sentences(file) for file in self.citing}

    def get_sentences_of_citing_paper(
        self, citance: InputCitance
    ) -> Sequence[PaperSentence]:
        """Return the sentences of the citing paper, or () if the paper is missing. The
        file extension is ignored, since some citances name the paper with another
        extension.
        """
        return self.papers.get(citance.name.citing.partition(".")[0], ())


def read_input_topics(
    files: Files, options: Options, *, with_papers_alone: bool = False
) -> list[InputTopic]:
    """Return the topics that have a reference paper, sorted by name. The files of the
    topics may be gold or public inputs.

    Topics without citances are skipped unless ``with_papers_alone`` is True, as in task
    2, which summarises papers.
    """
    topics = []
    for folder in group_files_into_topic_folders(files):
        chosen = choose_annotation_files(folder, options["annotation"])
        papers = {file.stem: file for file in folder.papers()}
        if papers and (chosen or with_papers_alone):
            name = chosen.topic if chosen else next(iter(papers))
            sentences = read_sentences(papers.get(name) or next(iter(papers.values())))
            citances, citing = (
                _iterate_input_citances(chosen) if chosen else (),
                folder.papers("Citance_XML"),
            )
            topics.append(
                InputTopic(name, tuple(sentences), tuple(citances), tuple(citing))
            )
    return sorted(topics, key=lambda topic: topic.name)


def _iterate_input_citances(chosen: ChosenAnnotationFiles) -> Iterator[InputCitance]:
    if chosen.version == CSV:
        rows = [
            list(reading.read_csv_rows(file, [], reading.AnnotationSource.INPUTS))
            for _, file in chosen.files
        ]
        has_gold = any(
            row.values.get("Reference Offset") for of_file in rows for row in of_file
        )
        for row in select_rows_with_reference(
            rows,
            reading.AnnotationSource.GOLD
            if has_gold
            else reading.AnnotationSource.INPUTS,
        ):
            text = row.values.get("Citation Text Clean") or row.values.get(
                "Citation Text", ""
            )
            marker = decode_html_entities(row.values.get("Citation Marker", "")).strip()
            yield InputCitance(row.name, decode_html_entities(text), (), marker)
        return
    for fields in reading.iterate_public_fields(chosen.files[0][1]):
        yield InputCitance(
            name=reading.make_citance_name(fields, "Citation Number"),
            text=decode_html_entities(
                reading.remove_sentence_tags(fields.get("Citation Text", ""))
            ),
            offsets=tuple(
                sid
                for sid in reading.parse_sentence_ids(fields.get("Citation Offset", ""))
                if sid
            ),
            marker=decode_html_entities(fields.get("Citation Marker", "")).strip(),
        )
