"""Convert the topics of the BiomedSumm corpus to the file layout of CL-Summ. In the
result, lists of sentences replace the character ranges of BiomedSumm.

BiomedSumm is the corpus of the TAC 2014 Biomedical Summarization Track. A topic of
BiomedSumm has `Annotation/TOPIC.ANNOTATOR.ann.txt`, `Documents_Text` with the papers as
plain text, and `Summary/TOPIC.ANNOTATOR.summary.txt`. An annotation gives the cited
text and the citation as character ranges, which do not count carriage returns. The
papers of BiomedSumm are not split into sentences. The module splits papers into
sentences by rules, and replaces each character range by all sentences that overlap the
range. If the text in a range differs from the quoted words, the module uses the range
in which the quoted words occur.
"""

import csv
import io
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scoring.metrics.discourse import iterate_sentence_spans
from scoring.tools.builders.topics import format_sentence_element, make_file_names
from tasks.types.clsumm.annotation import (
    ANSWER_CSV_COLUMNS,
    PUBLIC_CSV_COLUMNS,
    QUOTED_PASSAGES_SEPARATOR,
    AnnotationUnreadable,
    parse_line_fields,
)
from tasks.types.files import InputFile, open_files_of_all_inputs
from tasks.types.problems import (
    InputRefused,
    Problem,
    ProblemList,
    raise_if_any_problem_is_fatal,
)
from tasks.types.text import decode_utf8_or_windows_1252

REQUIRED_FIELDS = (
    "Citance Number",
    "Reference Article",
    "Citing Article",
    "Citation Marker Offset",
    "Citation Offset",
    "Reference Offset",
    "Reference Text",
    "Discourse Facet",
)
ANNOTATION_FOLDER, DOCUMENTS_FOLDER, SUMMARY_FOLDER = (
    "Annotation",
    "Documents_Text",
    "Summary",
)
EXPECTED_FOLDER_LAYOUT = (
    f"topic folders with `{ANNOTATION_FOLDER}/TOPIC.ANNOTATOR.ann.txt` and "
    f"`{DOCUMENTS_FOLDER}/PAPER.txt`"
)
#: The minimum number of letters in the overlap of a sentence and a character range.
MIN_SHARED_LETTERS = 5
_CHARACTER_RANGE_PATTERN = re.compile(
    r"(?<!\d)(\d{1,9})\s*-\s*(\d{1,9})(?!\d)", re.ASCII
)
_PARAGRAPH_PATTERN = re.compile(r"[^\n]+(?:\n[^\n]+)*")


@dataclass
class SentenceSplitPaper:
    """A paper. ``sentences`` has the start and end offset of each sentence in the
    paper's text.
    """

    text: str
    sentences: list[tuple[int, int]] = field(default_factory=list)

    @classmethod
    def read(cls, file: InputFile) -> "SentenceSplitPaper":
        paper = cls(
            decode_utf8_or_windows_1252(
                file.with_windows_1252_fallback().read()
            ).replace("\r", "")
        )
        for paragraph in _PARAGRAPH_PATTERN.finditer(paper.text):
            spans = iterate_sentence_spans(paragraph[0])
            paper.sentences += [
                (paragraph.start() + a, paragraph.start() + b) for a, b in spans
            ]
        return paper

    def format_sentence(self, sid: int) -> str:
        return format_sentence_element(sid, sid, self.text[slice(*self.sentences[sid])])

    def find_overlapping_sentences(self, start: int, end: int) -> list[int]:
        """Return the indices of the sentences that overlap a character range of the
        paper's text. An overlap must have at least MIN_SHARED_LETTERS letters, or contain the whole
        sentence.
        """
        sids = []
        for sid, (first, last) in enumerate(self.sentences):
            shared = len(
                _keep_letters_and_digits(self.text[max(start, first) : min(end, last)])
            )
            if (
                first < end
                and start < last
                and shared >= min(MIN_SHARED_LETTERS, last - first)
            ):
                sids.append(sid)
        return sids

    def place(self, words: str) -> tuple[int, int] | None:
        """Return the character range in which the quoted words occur in the paper's
        text. The search compares only letters and digits.
        """
        wanted = _keep_letters_and_digits(words)
        inside = [
            index for index, character in enumerate(self.text) if character.isalnum()
        ]
        start = _keep_letters_and_digits(self.text).find(wanted) if wanted else -1
        return (
            None if start < 0 else (inside[start], inside[start + len(wanted) - 1] + 1)
        )


@dataclass
class BiomedSummTopic:
    name: str
    annotations: list[InputFile] = field(default_factory=list)
    documents: dict[str, InputFile] = field(default_factory=dict)
    summaries: list[InputFile] = field(default_factory=list)


def convert_topics(data: Path, out: Path) -> Counter[str]:
    """Convert the topics of BiomedSumm and write them in the file layout of CL-Summ.
    Raises InputRefused.

    Return how many character ranges were kept, how many were replaced by the position
    of the quoted words, and how many quoted words were not found.
    """
    if out.exists() and any(out.iterdir()):
        raise InputRefused(
            [
                Problem(
                    file=str(out),
                    message="the folder has files",
                    expected="a new folder",
                )
            ]
        )
    problems = ProblemList()
    counts: Counter[str] = Counter()
    written: dict[Path, str] = {}
    for topic in group_files_by_topic(open_files_of_all_inputs([data])):
        files = {
            out / name: text
            for name, text in _iterate_converted_files(topic, problems, counts)
        }
        if both := sorted(files.keys() & written.keys()):
            message = (
                f"an earlier topic would be written as {both[0].relative_to(out)} too"
            )
            expected = "one topic of each reference paper"
            problems.append(
                Problem(file=topic.name, message=message, expected=expected)
            )
        written |= files
    if not written and not problems:
        problems.append(
            Problem(
                file=str(data),
                message="no topic was found",
                expected=EXPECTED_FOLDER_LAYOUT,
            )
        )
    raise_if_any_problem_is_fatal(problems)
    for path, text in written.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return counts


def group_files_by_topic(files: Sequence[InputFile]) -> list[BiomedSummTopic]:
    topics: dict[str, BiomedSummTopic] = {}
    for file in sorted(files, key=lambda one: one.name):
        if not file.parent_folder_names or file.suffix != ".txt":
            continue
        kind, above = (
            file.parent_folder_names[-1],
            file.name.rpartition("/")[0].rpartition("/")[0],
        )
        topic = topics.setdefault(above, BiomedSummTopic(above.rpartition("/")[2]))
        if kind == ANNOTATION_FOLDER:
            topic.annotations.append(file)
        elif kind == DOCUMENTS_FOLDER:
            topic.documents[_normalise_article_name(file.base)] = file
        elif kind == SUMMARY_FOLDER:
            topic.summaries.append(file)
    return [topic for topic in topics.values() if topic.annotations]


def _iterate_converted_files(
    topic: BiomedSummTopic, problems: ProblemList, counts: Counter[str]
) -> Iterator[tuple[str, str]]:
    documents = {
        name: SentenceSplitPaper.read(file) for name, file in topic.documents.items()
    }
    names = make_file_names(
        [file.base.removesuffix(".txt") for file in topic.documents.values()]
    )
    names = {_normalise_article_name(name): file for name, file in names.items()}
    rows: dict[str, list[dict[str, str]]] = defaultdict(list)
    references: set[str] = set()
    for file in topic.annotations:
        for number, values in iterate_annotations(file, problems):
            articles = [
                _normalise_article_name(values[name])
                for name in ("Reference Article", "Citing Article")
            ]
            if missing := [name for name in articles if name not in documents]:
                message = f"the paper “{missing[0]}” is not among the topic's {DOCUMENTS_FOLDER}"
                problems.append(file.make_problem(message, line=number))
                continue
            references.add(articles[0])
            values |= {
                "Reference Article": names[articles[0]],
                "Citing Article": names[articles[1]],
            }
            rows[_extract_annotator_name(file)].append(
                _build_annotation_row(values, documents[articles[0]], counts)
            )
    if len(references) > 1:
        message = f"several reference papers: {', '.join(sorted(references))}"
        problems.append(Problem(file=topic.name, message=message, expected="one"))
    if not rows or len(references) > 1:
        return
    name = names[references.pop()]
    for article, document in documents.items():
        part = "Reference_XML" if names[article] == name else "Citance_XML"
        lines = [
            document.format_sentence(sid) for sid in range(len(document.sentences))
        ]
        yield (
            f"{name}/{part}/{names[article]}.xml",
            "\n".join(["<PAPER>", *lines, "</PAPER>", ""]),
        )
    for annotator, marked in rows.items():
        written = io.StringIO()
        writer = csv.DictWriter(
            written, [*PUBLIC_CSV_COLUMNS, *ANSWER_CSV_COLUMNS], lineterminator="\n"
        )
        writer.writeheader()
        writer.writerows(marked)
        yield f"{name}/gold/Task1/{name}_{annotator}.csv", written.getvalue()
    for file in topic.summaries:
        yield (
            f"{name}/gold/Task2/{name}_{_extract_annotator_name(file)}.human.txt",
            decode_utf8_or_windows_1252(file.with_windows_1252_fallback().read()),
        )


def iterate_annotations(
    file: InputFile, problems: ProblemList
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield each annotation of an annotation file with the number of its first line.
    Empty lines separate annotations.
    """
    lines: list[str] = []
    for number, raw in enumerate(
        [*file.with_windows_1252_fallback().lines(), b""], start=1
    ):
        if line := decode_utf8_or_windows_1252(raw).strip():
            lines.append(line)
        elif lines:
            first, whole, lines = number - len(lines), " ".join(lines), []
            try:
                yield first, _require_fields(parse_line_fields(whole))
            except AnnotationUnreadable as fault:
                problems.append(
                    file.make_problem(
                        fault.message, fault.expected, line=first, raw=whole
                    )
                )


def _require_fields(values: dict[str, str]) -> dict[str, str]:
    for name in REQUIRED_FIELDS:
        if name not in values:
            raise AnnotationUnreadable(
                f"the line has no field “{name}”", "`Name: …` between bars"
            )
    return values


def _build_annotation_row(
    values: dict[str, str], paper: SentenceSplitPaper, counts: Counter[str]
) -> dict[str, str]:
    ids: dict[int, None] = {}
    pieces = values["Reference Text"].split(QUOTED_PASSAGES_SEPARATOR)
    ranges = [
        (int(a), int(b))
        for a, b in _CHARACTER_RANGE_PATTERN.findall(values["Reference Offset"])
    ]
    for index, (start, end) in enumerate(ranges):
        words = pieces[index] if len(pieces) == len(ranges) else ""
        span: tuple[int, int] | None = (start, end)
        if words and _keep_letters_and_digits(
            paper.text[start:end]
        ) != _keep_letters_and_digits(words):
            span = paper.place(words)
            counts["by their words" if span else "without a place"] += 1
        else:
            counts["as given"] += 1
        ids |= dict.fromkeys(paper.find_overlapping_sentences(*span) if span else ())
    marker = _CHARACTER_RANGE_PATTERN.search(values["Citation Marker Offset"])
    return {
        **{
            name: values.get(name, "")
            for name in (*PUBLIC_CSV_COLUMNS, *ANSWER_CSV_COLUMNS)
        },
        "Citation Marker Offset": marker[1]
        if marker
        else values["Citation Marker Offset"],
        "Citation Offset": "0",
        "Citation Text Clean": values.get("Citation Text", ""),
        "Reference Offset": ",".join(f"'{sid}'" for sid in ids) or "NA",
        "Reference Text": "".join(map(paper.format_sentence, ids)) or "NA",
        "Discourse Facet": values["Discourse Facet"] if ids else "NA",
    }


def _normalise_article_name(name: str) -> str:
    return re.sub(r"[,'\"]", "", name.strip().lower().removesuffix(".txt"))


def _extract_annotator_name(file: InputFile) -> str:
    parts = file.base.split(".")
    return re.sub(r"[^A-Za-z0-9-]+", "-", parts[1]) if len(parts) > 2 else "A"


def _keep_letters_and_digits(text: str) -> str:
    return "".join(character.lower()[0] for character in text if character.isalnum())
