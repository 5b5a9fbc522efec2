"""Validate the reports of a run with the checks of the track's official validation
program.

Each finding of a check has a category. A track (a shared task of a conference) lists
the categories that are only warnings, and a task may accept more categories.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tasks.types.cited_reports.reports import CitedReport
from tasks.types.cited_reports.tracks import LENGTH_LIMIT_OF_TOPIC, EvaluationTrack
from tasks.types.problems import Problem, ProblemList

#: A message about the whole run lists at most `MAX_TOPICS_NAMED` topics.
MAX_TOPICS_NAMED = 5


class ReportFinding(NamedTuple):
    """A finding of the validation of a report or a run, with the category of the
    finding.
    """

    category: str
    message: str
    expected: str = ""


def append_report_findings(
    reports: Sequence[CitedReport],
    topics: Mapping[str, Mapping[str, Any]],
    track: EvaluationTrack,
    accepted: frozenset[str],
    problems: ProblemList,
) -> None:
    """Append to ``problems`` the findings on each report and on the run as a whole."""
    warnings = frozenset(track.warnings) | accepted
    for report in reports:
        for finding in find_report_findings(report, topics.get(report.topic), track):
            problems.append(
                Problem(
                    file=report.file,
                    line=report.line,
                    message=f"topic “{report.topic}”: {finding.message}",
                    expected=finding.expected,
                    fatal=finding.category not in warnings,
                    topic=report.topic,
                    category=finding.category,
                )
            )
    shown = reports[0].file if reports else ""
    for finding in find_run_findings(reports, topics, track):
        problems.append(
            Problem(
                file=shown,
                message=finding.message,
                expected=finding.expected,
                fatal=finding.category not in warnings,
                category=finding.category,
            )
        )


def find_report_findings(
    report: CitedReport, topic: Mapping[str, Any] | None, track: EvaluationTrack
) -> Iterator[ReportFinding]:
    """Yield the findings on a report. ``topic`` is None if the split does not contain
    the topic of the report.
    """
    if not report.nonblank_sentences:
        how = "all its sentences are blank" if report.sentences else "no sentences"
        yield ReportFinding("empty_answer", f"the report is empty: {how}")
        return
    yield from _find_metadata_faults(report, track)
    yield from _find_sentence_faults(report, track)
    if track.references == "none" and report.references:
        yield ReportFinding("references_present", "there are references", "none here")
    elif track.references in ("cited_only", "retrieval_list"):
        yield from _find_reference_faults(report, track)
    yield from _find_length_faults(report, topic, track)


def _find_metadata_faults(
    report: CitedReport, track: EvaluationTrack
) -> Iterator[ReportFinding]:
    for category, names in (
        ("metadata", track.metadata),
        ("metadata_recommended", track.recommended),
    ):
        for name in names:
            if _is_metadata_missing(report, name):
                yield ReportFinding(category, f"“metadata.{name}” is missing or empty")
    run_id = report.metadata.get("run_id") or ""
    if track.run_id is not None and len(run_id) > track.run_id:
        message = f"“metadata.run_id” has {len(run_id)} characters"
        yield ReportFinding("run_id_length", message, f"at most {track.run_id}")


def _is_metadata_missing(report: CitedReport, name: str) -> bool:
    if name in ("topic_id", "narrative_id", "request_id"):
        return not report.topic.strip()
    value = report.metadata.get(name)
    return value is None or (isinstance(value, str) and not value.strip())


def _find_sentence_faults(
    report: CitedReport, track: EvaluationTrack
) -> Iterator[ReportFinding]:
    count = len(report.references or ())
    for index, sentence in enumerate(report.sentences):
        where = f"sentence {index}"
        if report.form not in track.forms:
            message = f"{where} cites in the form {report.form}"
            yield ReportFinding("citation_format", message, " or ".join(track.forms))
            continue
        if sentence.is_blank:
            yield ReportFinding("blank_sentence", f"{where} has no text")
        cited = len(sentence.citations)
        if track.max_citations is not None and cited > track.max_citations:
            message = f"{where} has {cited} citations"
            yield ReportFinding(
                "citation_count", message, f"at most {track.max_citations}"
            )
        for citation in sentence.citations:
            if citation.document is None:
                message = f"{where} cites {citation.given}, of {count} references"
                yield ReportFinding("reference_index", message)
            elif not _matches_id_pattern(citation.document, track):
                yield _make_document_id_finding(
                    f"{where} cites", citation.document, track
                )
    for score in report.wrong_scores:
        yield ReportFinding(
            "citation_score", f"a score is no number: {score}", "a number"
        )


def _matches_id_pattern(document: str, track: EvaluationTrack) -> bool:
    return not track.pattern or bool(re.match(track.pattern, document))


def _make_document_id_finding(
    where: str, document: str, track: EvaluationTrack
) -> ReportFinding:
    message = f"{where} “{document}”, which is no id of a document"
    return ReportFinding("docid_pattern", message, track.pattern)


def _find_reference_faults(
    report: CitedReport, track: EvaluationTrack
) -> Iterator[ReportFinding]:
    references = report.references
    if references is None:
        yield ReportFinding("references_missing", "“references” is missing")
        return
    cited = {
        citation.document
        for sentence in report.sentences
        for citation in sentence.citations
        if citation.document is not None
    }
    listed = set(references)
    if len(listed) != len(references):
        message = "“references” has a document more than once"
        yield ReportFinding("references_duplicate", message)
    for document in references:
        if not _matches_id_pattern(document, track):
            yield _make_document_id_finding("“references” has", document, track)
    if undeclared := sorted(cited - listed):
        message = f"{len(undeclared)} cited documents are not among the references"
        yield ReportFinding(
            "references_undeclared", f"{message}, such as “{undeclared[0]}”"
        )
    if (
        track.references == "retrieval_list"
        and track.max_references is not None
        and len(references) > track.max_references
    ):
        message = f"there are {len(references)} references"
        yield ReportFinding(
            "references_max", message, f"at most {track.max_references}"
        )
    if uncited := sorted(listed - cited):
        message = f"{len(uncited)} references are not cited, such as “{uncited[0]}”"
        yield ReportFinding("references_uncited", message)


def _find_length_faults(
    report: CitedReport, topic: Mapping[str, Any] | None, track: EvaluationTrack
) -> Iterator[ReportFinding]:
    limit = track.length
    if limit == LENGTH_LIMIT_OF_TOPIC:
        limit = topic.get("limit") if topic else None
    length = count_words_or_characters(report.text, track.unit)
    if isinstance(limit, int) and length > limit:
        yield ReportFinding(
            "length", f"the report has {length} {track.unit}", f"at most {limit}"
        )


def count_words_or_characters(text: str, unit: str) -> int:
    """Return the number of words separated by white space, or the number of characters
    in NFKC.
    """
    if unit == "words":
        return len(text.split())
    return len(unicodedata.normalize("NFKC", text))


def find_run_findings(
    reports: Sequence[CitedReport],
    topics: Mapping[str, Mapping[str, Any]],
    track: EvaluationTrack,
) -> Iterator[ReportFinding]:
    """Yield the findings on the run as a whole, at most one per category."""
    answered = Counter(report.topic for report in reports)
    if missing := [topic for topic in topics if topic not in answered]:
        message = f"no report on {_describe_topics(missing)}"
        yield ReportFinding("missing_topics", message, "a report on each topic")
    if new := sorted(answered.keys() - topics.keys()):
        message = f"this split does not have {_describe_topics(new)}"
        yield ReportFinding("new_topics", message, "topics of the split")
    if twice := sorted(topic for topic, count in answered.items() if count > 1):
        message = f"several reports on {_describe_topics(twice)}; the first one counts"
        yield ReportFinding("duplicate_topics", message)
    other = {
        report.topic
        for report in reports
        if report.topic in topics
        and report.metadata.get("narrative") != topics[report.topic].get("title")
    }
    if track.exact_narrative and other:
        message = f"“metadata.narrative” is not the title of {_describe_topics(sorted(other))}"
        yield ReportFinding("narrative", message, "the title, character by character")


def _describe_topics(topics: Sequence[str]) -> str:
    more = len(topics) - MAX_TOPICS_NAMED
    named = ", ".join(topics[:MAX_TOPICS_NAMED]) + (
        f" and {more} more" if more > 0 else ""
    )
    return f"{len(topics)} {'topic' if len(topics) == 1 else 'topics'}: {named}"
