"""Reading a run of cited reports by the rules of its track."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tasks.types.base import Index, Options
from tasks.types.cited_reports.checks import check
from tasks.types.cited_reports.options import TRACK, accepted
from tasks.types.cited_reports.reports import Report, read_reports
from tasks.types.cited_reports.tracks import NO_TRACK, TRACKS
from tasks.types.files import Files
from tasks.types.problems import Problem, Problems

#: Maximum number of errors to count, beyond the listed errors, before reading ends.
MAX_COUNTED = 99_000
#: The report that counts on each topic of the split.
Run = Mapping[str, Report]


def read_run(files: Files, index: Index, options: Options) -> tuple[Run, list[Problem]]:
    """The reports by topic, only meant where nothing is fatal, and what the track finds wrong with them.

    Raise OptionRefused for a category that is none.
    """
    problems = Problems(counts=MAX_COUNTED)
    accepts = accepted(options)
    reports = read_reports(files, problems)
    if not problems.has_errors:
        track = TRACKS[options.get(TRACK.name) or NO_TRACK]
        check(reports, index["topics"], track, accepts, problems)
    run: dict[str, Report] = {}
    for report in reports:
        if report.topic in index["topics"]:
            run.setdefault(report.topic, report)
    return run, problems


def filled(run: Run, index: Index) -> Iterable[bool]:
    """Return True for every report if any has text; the track's own check finds single empty reports."""
    has_text = any(report.written for report in run.values())
    return [has_text for _ in run]
