"""Runs of cited reports in the JSON formats of the tracks or in Markdown with citation
marks.

The reader refuses lines in formats that no track uses. The module
`tasks.types.cited_reports.checks` checks the requirements of a track.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks.types.cited_reports.tracks import (
    CITATIONS_BY_ID,
    CITATIONS_BY_ID_WITH_SCORE,
    CITATIONS_BY_POSITION,
)
from tasks.types.files import Files, InputFile
from tasks.types.jsonlines import JsonRecord, is_records_file, read_records
from tasks.types.positional_citations.sentences import (
    CITATION_MARK_PATTERN,
    expand_citations_to_single_marks,
    parse_mark_number,
    remove_marks,
    split_into_claim_sentences,
)
from tasks.types.problems import ProblemList
from tasks.types.run_forms import RunFormatSignature, is_json_without_suffix
from tasks.types.text import describe_json_type

REPORT_EXAMPLE = (
    '{"metadata": {"team_id": "t", "run_id": "r", "topic_id": "7"}, "references": ["d1"], '
    '"responses": [{"text": "It rains.", "citations": [0]}]}'
)
#: A report's list of sentences is under the first key of `SENTENCE_LIST_KEYS` that it has.
SENTENCE_LIST_KEYS = ("responses", "answer")
#: The topic's id is under the first key of `TOPIC_ID_KEYS` that `metadata` has.
TOPIC_ID_KEYS = ("topic_id", "narrative_id", "request_id")
#: Fields of `metadata` that `_METADATA_TEXT_FIELDS` lists must be texts if present.
_METADATA_TEXT_FIELDS = (
    "team_id",
    "run_id",
    "topic_id",
    "request_id",
    "narrative",
    "type",
    "run_desc",
)
MARKDOWN_SUFFIXES = (".md", ".markdown")
#: `CITATION_FORM_NAMES` contains the names of the citation forms in messages.
CITATION_FORM_NAMES = {
    CITATIONS_BY_POSITION: "positions",
    CITATIONS_BY_ID: "ids",
    CITATIONS_BY_ID_WITH_SCORE: "ids with scores",
    "list": "an empty list",
}
RUN_FORM_DESCRIPTION = (
    f"JSON lines such as {REPORT_EXAMPLE}, or a folder of Markdown files, "
    "each named by its topic"
)
RUN_FORM = RunFormatSignature(
    described=RUN_FORM_DESCRIPTION,
    keys=tuple(frozenset({"metadata", key}) for key in SENTENCE_LIST_KEYS),
)


@dataclass(frozen=True)
class ReportCitation:
    """One citation of a sentence.

    ``document`` is None if the cited position exceeds the references. ``given`` is the
    citation in the spelling of the run.
    """

    document: str | None
    given: str
    score: float | None = None


@dataclass(frozen=True)
class ReportSentence:
    """An unchanged sentence of the run, with its citations in the order of the run."""

    text: str
    citations: tuple[ReportCitation, ...]

    @property
    def is_blank(self) -> bool:
        return not self.text.strip()


@dataclass(frozen=True, kw_only=True)
class CitedReport:
    """A report on one topic. ``references`` is None if the run's field `references` is
    absent or null.
    """

    topic: str
    file: str
    line: int | None
    metadata: Mapping[str, Any]
    form: str
    sentences: tuple[ReportSentence, ...]
    references: tuple[str, ...] | None
    #: `wrong_scores` describes the citations whose score is not a number.
    wrong_scores: tuple[str, ...] = ()

    @property
    def nonblank_sentences(self) -> tuple[ReportSentence, ...]:
        """Return the sentences of the report that are not blank."""
        return tuple(sentence for sentence in self.sentences if not sentence.is_blank)

    @property
    def text(self) -> str:
        """Return the sentences of the report, joined by one space."""
        return " ".join(sentence.text for sentence in self.sentences)


def read_reports(files: Files, problems: ProblemList) -> list[CitedReport]:
    """Read the reports of a run in the order of the files. An unknown form of a report
    is a fatal problem.
    """
    reports: list[CitedReport] = []
    for file in files:
        if is_records_file(file.name) or is_json_without_suffix(file):
            reports += _iterate_reports(file, problems)
        elif file.suffix in MARKDOWN_SUFFIXES:
            reports.append(_read_markdown_report(file))
        else:
            message = file.kind_by_suffix
            problems.append(file.make_problem(message, RUN_FORM_DESCRIPTION))
    return reports


def _iterate_reports(file: InputFile, problems: ProblemList) -> Iterator[CitedReport]:
    for record in read_records(file, problems):
        faults: list[tuple[str, str]] = []
        report = _parse_report(record, faults)
        problems += [record.problem(*fault) for fault in faults]
        if not faults:
            yield report


MessageAndExpectedPairs = list[tuple[str, str]]


def _parse_report(record: JsonRecord, faults: MessageAndExpectedPairs) -> CitedReport:
    value = record.value
    metadata = value.get("metadata")
    if not isinstance(metadata, Mapping):
        faults.append(
            (
                f"“metadata” is {_describe_value_kind(value, 'metadata')}",
                "an object with a topic id",
            )
        )
        metadata = {}
    references = _read_references(value, faults)
    key = next(
        (key for key in SENTENCE_LIST_KEYS if value.get(key) is not None),
        SENTENCE_LIST_KEYS[0],
    )
    raw = value.get(key)
    if isinstance(raw, str):
        form, sentences = _split_markdown_sentences(raw, references or ())
        wrong: list[str] = []
    else:
        rows = _read_sentence_rows(raw, key, faults)
        form = _determine_citation_form(rows, faults)
        wrong = []
        sentences = tuple(
            ReportSentence(
                text, tuple(_parse_citations(cited, form, references or (), wrong))
            )
            for text, cited in rows
        )
    return CitedReport(
        topic=_read_topic_of_report(metadata, faults),
        file=record.file,
        line=record.line,
        metadata=metadata,
        form=form,
        sentences=sentences,
        references=references,
        wrong_scores=tuple(wrong),
    )


def _describe_value_kind(value: Mapping[str, Any], key: str) -> str:
    return describe_json_type(value[key]) if key in value else "missing"


def _read_topic_of_report(
    metadata: Mapping[str, Any], faults: MessageAndExpectedPairs
) -> str:
    for key in _METADATA_TEXT_FIELDS:
        if not isinstance(metadata.get(key) or "", str):
            faults.append(
                (f"“metadata.{key}” is {describe_json_type(metadata[key])}", "a text")
            )
    ids: dict[str, str] = {}
    for key in TOPIC_ID_KEYS:
        name = metadata.get(key)
        if isinstance(name, int) and not isinstance(name, bool):
            name = str(name)
        if isinstance(name, str):
            ids[key] = name
        elif name is not None and key not in _METADATA_TEXT_FIELDS:
            faults.append((f"“metadata.{key}” is {describe_json_type(name)}", "a text"))
    names = list(dict.fromkeys(ids.values()))
    if not names:
        expected = " or ".join(TOPIC_ID_KEYS)
        faults.append(("“metadata” names no topic", expected))
        return ""
    if len({ids[key] for key in TOPIC_ID_KEYS[:2] if key in ids}) > 1:
        message = f"“topic_id” is “{names[0]}” and “narrative_id” is “{names[1]}”"
        faults.append((message, "one topic"))
    return names[0]


def _read_references(
    value: Mapping[str, Any], faults: MessageAndExpectedPairs
) -> tuple[str, ...] | None:
    references = value.get("references")
    if references is None:
        return None
    if not isinstance(references, list) or not all(
        isinstance(reference, str) for reference in references
    ):
        faults.append(("“references” is no list of texts", '["d1", "d2"]'))
        return None
    return tuple(references)


def _read_sentence_rows(
    raw: Any, key: str, faults: MessageAndExpectedPairs
) -> list[tuple[str, Any]]:
    """Return the text and the citations of each sentence in a report."""
    if raw is None:
        return []
    if not isinstance(raw, list):
        faults.append((f"“{key}” is {describe_json_type(raw)}", "a list of sentences"))
        return []
    rows = []
    for index, item in enumerate(raw):
        text = item.get("text") if isinstance(item, dict) else None
        if isinstance(text, str):
            rows.append((text, item.get("citations")))
        else:
            message = f"“{key}[{index}]” has no text"
            faults.append((message, '{"text": "…", "citations": […]}'))
    return rows


def _determine_citation_form(
    rows: Sequence[tuple[str, Any]], faults: MessageAndExpectedPairs
) -> str:
    forms: dict[str, str] = {}
    for index, (_, citations) in enumerate(rows):
        for form in sorted(_list_citation_forms(citations)):
            forms.setdefault(form, f"sentence {index}")
    lists = [form for form in forms if form in (CITATIONS_BY_POSITION, CITATIONS_BY_ID)]
    found = [form for form in forms if form != "list"]
    if "" in forms:
        message = f"the citations of {forms['']} are in no form"
        expected = '[0, 1], ["d1", "d2"] or {"d1": 0.9}'
        faults.append((message, expected))
    elif len(found) > 1 or (CITATIONS_BY_ID_WITH_SCORE in forms and "list" in forms):
        names = ", ".join(
            f"{CITATION_FORM_NAMES.get(form, form)} in {where}"
            for form, where in forms.items()
        )
        faults.append(
            (f"the report mixes forms of citations: {names}", "one form for a report")
        )
    elif found and not lists:
        return CITATIONS_BY_ID_WITH_SCORE
    return lists[0] if lists else CITATIONS_BY_ID


def _list_citation_forms(citations: Any) -> set[str]:
    if citations is None:
        return set()
    if isinstance(citations, dict):
        return {CITATIONS_BY_ID_WITH_SCORE}
    if not isinstance(citations, list):
        return {""}
    return {_determine_form_of_citation(citation) for citation in citations} or {"list"}


def _determine_form_of_citation(citation: Any) -> str:
    if isinstance(citation, str):
        return CITATIONS_BY_ID
    if isinstance(citation, bool) or not isinstance(citation, int | float):
        return ""
    return CITATIONS_BY_POSITION if citation == int(citation) else ""


def _parse_citations(
    cited: Any, form: str, references: Sequence[str], wrong: list[str]
) -> Iterator[ReportCitation]:
    if form == CITATIONS_BY_ID_WITH_SCORE and isinstance(cited, dict):
        for document, score in cited.items():
            is_number = isinstance(score, int | float)
            if not is_number:
                wrong.append(f"“{document}”: {describe_json_type(score)}")
            yield ReportCitation(document, document, score if is_number else None)
        return
    for one in cited if isinstance(cited, list) else ():
        if isinstance(one, str):
            yield ReportCitation(one, one)
        elif isinstance(one, int | float):
            place = int(one)
            is_there = 0 <= place < len(references)
            yield ReportCitation(references[place] if is_there else None, str(place))


#: `_SOURCE_NOTE_PATTERN` matches URLs in brackets after the word source or sources and a colon.
#: Commas or semicolons separate several URLs in a citation.
_SOURCE_NOTE_PATTERN = re.compile(r"\s?\(sources?:[ ]?([^()]+)\)", re.IGNORECASE)
#: `_LINK_DEFINITION_PATTERN` matches a Markdown link definition, which gives a mark its URL.
_LINK_DEFINITION_PATTERN = re.compile(
    r"^[ ]{0,3}\[\^?(\d{1,3})\]:[ \t]*<?([^\s<>]+).*$", re.MULTILINE
)


def _read_markdown_report(file: InputFile) -> CitedReport:
    """Read a report from a Markdown file. The topic is the file name without its
    suffix, and the link definitions are the references.
    """
    text = file.read().decode(errors="replace")
    defined = {int(mark): name for mark, name in _LINK_DEFINITION_PATTERN.findall(text)}
    last = max(defined, default=0)
    references = tuple(defined.get(mark, "") for mark in range(1, last + 1))
    form, sentences = _split_markdown_sentences(
        _LINK_DEFINITION_PATTERN.sub("", text), references
    )
    return CitedReport(
        topic=file.base.rpartition(".")[0],
        file=file.shown,
        line=None,
        metadata={},
        form=form,
        sentences=sentences,
        references=references or None,
    )


def _split_markdown_sentences(
    text: str, references: Sequence[str] = ()
) -> tuple[str, tuple[ReportSentence, ...]]:
    """Return the form of a Markdown text's citations, and the sentences of the text.
    The mark `[1]` refers to the first reference.
    """
    addresses: list[str] = []

    def replace_source_note_by_mark(source: re.Match[str]) -> str:
        marks = []
        for address in re.split(r"[,;]?\s+", source[1].strip()):
            addresses.append(address)
            marks.append(f"[{_FIRST_MARK_NUMBER_OF_URLS + len(addresses) - 1}]")
        return "".join(marks)

    plain = expand_citations_to_single_marks(text)
    has_marks = bool(CITATION_MARK_PATTERN.search(plain))
    sentences = []
    for one in split_into_claim_sentences(
        _SOURCE_NOTE_PATTERN.sub(replace_source_note_by_mark, plain), moves_marks=True
    ):
        cited = []
        for mark in map(parse_mark_number, CITATION_MARK_PATTERN.findall(one)):
            place = mark - _FIRST_MARK_NUMBER_OF_URLS
            if 0 <= place < len(addresses):
                cited.append(ReportCitation(addresses[place], addresses[place]))
            else:
                document = references[mark - 1] if 0 < mark <= len(references) else ""
                cited.append(ReportCitation(document or None, f"[{mark}]"))
        sentences.append(ReportSentence(remove_marks(one).strip(), tuple(cited)))
    return CITATIONS_BY_POSITION if has_marks else CITATIONS_BY_ID, tuple(sentences)


#: Citation marks with numbers from `_FIRST_MARK_NUMBER_OF_URLS` on represent URLs.
#: Authors do not use numbers of this size in citation marks.
_FIRST_MARK_NUMBER_OF_URLS = 100_000_000
