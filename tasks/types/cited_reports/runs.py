"""Read a run of cited reports under the rules of its track."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tasks.types.base import Index, Options
from tasks.types.cited_reports.checks import append_report_findings
from tasks.types.cited_reports.options import TRACK_OPTION, parse_accepted_categories
from tasks.types.cited_reports.reports import CitedReport, read_reports
from tasks.types.cited_reports.tracks import NO_TRACK, TRACKS_BY_NAME
from tasks.types.files import Files
from tasks.types.problems import Problem, ProblemList

#: `MAX_UNLISTED_ERRORS` limits the errors that are counted but not listed.
#: Reading stops when the number of unlisted errors exceeds the limit.
MAX_UNLISTED_ERRORS = 99_000
#: `Run` contains the scored report on each topic of the split.
ReportsByTopic = Mapping[str, CitedReport]


def read_run(
    files: Files, index: Index, options: Options
) -> tuple[ReportsByTopic, list[Problem]]:
    """Return the scored reports by topic, and the findings under the rules of the
    track. The reports are valid only if no finding is fatal.

    Raises OptionRefused if the option `accept` lists an unknown category.
    """
    problems = ProblemList(counts=MAX_UNLISTED_ERRORS)
    accepts = parse_accepted_categories(options)
    reports = read_reports(files, problems)
    if not problems.has_errors:
        track = TRACKS_BY_NAME[options.get(TRACK_OPTION.name) or NO_TRACK]
        append_report_findings(reports, index["topics"], track, accepts, problems)
    run: dict[str, CitedReport] = {}
    for report in reports:
        if report.topic in index["topics"]:
            run.setdefault(report.topic, report)
    return run, problems


def filled(run: ReportsByTopic, index: Index) -> Iterable[bool]:
    """Return True for every report if at least one report has text."""
    has_text = any(report.nonblank_sentences for report in run.values())
    return [has_text for _ in run]
