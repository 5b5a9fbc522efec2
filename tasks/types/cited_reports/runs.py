"""Read a run of cited reports under the rules of its track."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tasks.types.base import Index, Options
from tasks.types.cited_reports.checks import check
from tasks.types.cited_reports.options import TRACK, accepted
from tasks.types.cited_reports.reports import Report, read_reports
from tasks.types.cited_reports.tracks import NO_TRACK, TRACKS
from tasks.types.files import Files
from tasks.types.problems import Problem, Problems

#: `MAX_COUNTED` limits the errors that are counted but not listed.
#: Reading stops when the number of unlisted errors exceeds the limit.
MAX_COUNTED = 99_000
#: `Run` contains the scored report on each topic of the split.
Run = Mapping[str, Report]


def read_run(files: Files, index: Index, options: Options) -> tuple[Run, list[Problem]]:
    """Return the scored reports by topic, and the findings under the rules of the
    track. The reports are valid only if no finding is fatal.

    Raises OptionRefused if the option `accept` lists an unknown category.
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
    """Return True for every report if at least one report has text."""
    has_text = any(report.written for report in run.values())
    return [has_text for _ in run]
