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

from scoring.metrics.discourse import sentence_spans
from scoring.tools.builders.topics import format_sentence_element, make_file_names
from tasks.types.clsumm.annotation import (
    ANSWER_COLUMNS,
    PIECES_JOIN,
    PUBLIC_COLUMNS,
    Unreadable,
    line_fields,
)
from tasks.types.files import InputFile, open_inputs
from tasks.types.problems import InputRefused, Problem, Problems, refuse
from tasks.types.text import decoded

NEEDED = (
    "Citance Number",
    "Reference Article",
    "Citing Article",
    "Citation Marker Offset",
    "Citation Offset",
    "Reference Offset",
    "Reference Text",
    "Discourse Facet",
)
ANNOTATION, DOCUMENTS, SUMMARY = "Annotation", "Documents_Text", "Summary"
LAYOUT = f"topic folders with `{ANNOTATION}/TOPIC.ANNOTATOR.ann.txt` and `{DOCUMENTS}/PAPER.txt`"
#: The minimum number of letters in the overlap of a sentence and a character range.
FEWEST = 5
_RANGE = re.compile(r"(?<!\d)(\d{1,9})\s*-\s*(\d{1,9})(?!\d)", re.ASCII)
_PARAGRAPH = re.compile(r"[^\n]+(?:\n[^\n]+)*")


@dataclass
class Document:
    """A paper. ``sentences`` has the start and end offset of each sentence in the
    paper's text.
    """

    text: str
    sentences: list[tuple[int, int]] = field(default_factory=list)

    @classmethod
    def read(cls, file: InputFile) -> "Document":
        paper = cls(decoded(file.with_fallback().read()).replace("\r", ""))
        for paragraph in _PARAGRAPH.finditer(paper.text):
            spans = sentence_spans(paragraph[0])
            paper.sentences += [
                (paragraph.start() + a, paragraph.start() + b) for a, b in spans
            ]
        return paper

    def quoted(self, sid: int) -> str:
        return format_sentence_element(sid, sid, self.text[slice(*self.sentences[sid])])

    def touched(self, start: int, end: int) -> list[int]:
        """Return the indices of the sentences that overlap a character range of the
        paper's text. An overlap must have at least FEWEST letters, or contain the whole
        sentence.
        """
        sids = []
        for sid, (first, last) in enumerate(self.sentences):
            shared = len(_letters(self.text[max(start, first) : min(end, last)]))
            if first < end and start < last and shared >= min(FEWEST, last - first):
                sids.append(sid)
        return sids

    def place(self, words: str) -> tuple[int, int] | None:
        """Return the character range in which the quoted words occur in the paper's
        text. The search compares only letters and digits.
        """
        wanted = _letters(words)
        inside = [
            index for index, character in enumerate(self.text) if character.isalnum()
        ]
        start = _letters(self.text).find(wanted) if wanted else -1
        return (
            None if start < 0 else (inside[start], inside[start + len(wanted) - 1] + 1)
        )


@dataclass
class Topic:
    name: str
    annotations: list[InputFile] = field(default_factory=list)
    documents: dict[str, InputFile] = field(default_factory=dict)
    summaries: list[InputFile] = field(default_factory=list)


def convert(data: Path, out: Path) -> Counter[str]:
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
    problems = Problems()
    counts: Counter[str] = Counter()
    written: dict[Path, str] = {}
    for topic in topics(open_inputs([data])):
        files = {out / name: text for name, text in _files(topic, problems, counts)}
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
            Problem(file=str(data), message="no topic was found", expected=LAYOUT)
        )
    refuse(problems)
    for path, text in written.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return counts


def topics(files: Sequence[InputFile]) -> list[Topic]:
    topics: dict[str, Topic] = {}
    for file in sorted(files, key=lambda one: one.name):
        if not file.folders or file.suffix != ".txt":
            continue
        kind, above = file.folders[-1], file.name.rpartition("/")[0].rpartition("/")[0]
        topic = topics.setdefault(above, Topic(above.rpartition("/")[2]))
        if kind == ANNOTATION:
            topic.annotations.append(file)
        elif kind == DOCUMENTS:
            topic.documents[_article(file.base)] = file
        elif kind == SUMMARY:
            topic.summaries.append(file)
    return [topic for topic in topics.values() if topic.annotations]


def _files(
    topic: Topic, problems: Problems, counts: Counter[str]
) -> Iterator[tuple[str, str]]:
    documents = {name: Document.read(file) for name, file in topic.documents.items()}
    names = make_file_names(
        [file.base.removesuffix(".txt") for file in topic.documents.values()]
    )
    names = {_article(name): file for name, file in names.items()}
    rows: dict[str, list[dict[str, str]]] = defaultdict(list)
    references: set[str] = set()
    for file in topic.annotations:
        for number, values in records(file, problems):
            articles = [
                _article(values[name])
                for name in ("Reference Article", "Citing Article")
            ]
            if missing := [name for name in articles if name not in documents]:
                message = (
                    f"the paper “{missing[0]}” is not among the topic's {DOCUMENTS}"
                )
                problems.append(file.problem(message, line=number))
                continue
            references.add(articles[0])
            values |= {
                "Reference Article": names[articles[0]],
                "Citing Article": names[articles[1]],
            }
            rows[_annotator(file)].append(_row(values, documents[articles[0]], counts))
    if len(references) > 1:
        message = f"several reference papers: {', '.join(sorted(references))}"
        problems.append(Problem(file=topic.name, message=message, expected="one"))
    if not rows or len(references) > 1:
        return
    name = names[references.pop()]
    for article, document in documents.items():
        part = "Reference_XML" if names[article] == name else "Citance_XML"
        lines = [document.quoted(sid) for sid in range(len(document.sentences))]
        yield (
            f"{name}/{part}/{names[article]}.xml",
            "\n".join(["<PAPER>", *lines, "</PAPER>", ""]),
        )
    for annotator, marked in rows.items():
        written = io.StringIO()
        writer = csv.DictWriter(
            written, [*PUBLIC_COLUMNS, *ANSWER_COLUMNS], lineterminator="\n"
        )
        writer.writeheader()
        writer.writerows(marked)
        yield f"{name}/gold/Task1/{name}_{annotator}.csv", written.getvalue()
    for file in topic.summaries:
        yield (
            f"{name}/gold/Task2/{name}_{_annotator(file)}.human.txt",
            decoded(file.with_fallback().read()),
        )


def records(
    file: InputFile, problems: Problems
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield each annotation of an annotation file with the number of its first line.
    Empty lines separate annotations.
    """
    lines: list[str] = []
    for number, raw in enumerate([*file.with_fallback().lines(), b""], start=1):
        if line := decoded(raw).strip():
            lines.append(line)
        elif lines:
            first, whole, lines = number - len(lines), " ".join(lines), []
            try:
                yield first, _needed(line_fields(whole))
            except Unreadable as fault:
                problems.append(
                    file.problem(fault.message, fault.expected, line=first, raw=whole)
                )


def _needed(values: dict[str, str]) -> dict[str, str]:
    for name in NEEDED:
        if name not in values:
            raise Unreadable(
                f"the line has no field “{name}”", "`Name: …` between bars"
            )
    return values


def _row(
    values: dict[str, str], paper: Document, counts: Counter[str]
) -> dict[str, str]:
    ids: dict[int, None] = {}
    pieces = values["Reference Text"].split(PIECES_JOIN)
    ranges = [(int(a), int(b)) for a, b in _RANGE.findall(values["Reference Offset"])]
    for index, (start, end) in enumerate(ranges):
        words = pieces[index] if len(pieces) == len(ranges) else ""
        span: tuple[int, int] | None = (start, end)
        if words and _letters(paper.text[start:end]) != _letters(words):
            span = paper.place(words)
            counts["by their words" if span else "without a place"] += 1
        else:
            counts["as given"] += 1
        ids |= dict.fromkeys(paper.touched(*span) if span else ())
    marker = _RANGE.search(values["Citation Marker Offset"])
    return {
        **{name: values.get(name, "") for name in (*PUBLIC_COLUMNS, *ANSWER_COLUMNS)},
        "Citation Marker Offset": marker[1]
        if marker
        else values["Citation Marker Offset"],
        "Citation Offset": "0",
        "Citation Text Clean": values.get("Citation Text", ""),
        "Reference Offset": ",".join(f"'{sid}'" for sid in ids) or "NA",
        "Reference Text": "".join(map(paper.quoted, ids)) or "NA",
        "Discourse Facet": values["Discourse Facet"] if ids else "NA",
    }


def _article(name: str) -> str:
    return re.sub(r"[,'\"]", "", name.strip().lower().removesuffix(".txt"))


def _annotator(file: InputFile) -> str:
    parts = file.base.split(".")
    return re.sub(r"[^A-Za-z0-9-]+", "-", parts[1]) if len(parts) > 2 else "A"


def _letters(text: str) -> str:
    return "".join(character.lower()[0] for character in text if character.isalnum())
