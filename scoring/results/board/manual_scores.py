"""Store scores that organisers enter by hand, which boards show in a separate table."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.core import audit, plain_text
from citeboard.core.words import localize_separators
from citeboard.teams.models import User
from scoring.models import ManualMeasure, ManualScore
from scoring.results.board.standings import (
    Board,
    BoardRow,
    compute_board,
    expand_rows_to_runs,
)
from scoring.results.board.visibility import BoardVisibility
from tasks.models import Phase, Submission, TeamFigure, seasons
from tasks.seasons.phase_acts import lock_phase
from tasks.submissions.run_card import TEAM_MEASURES_BY_NAME, TeamReportedMeasure

MAX_MEASURE_NAME_CHARACTERS, MAX_SOURCE_CHARACTERS, MAX_MEASURES_PER_PHASE = 60, 400, 20
#: The text with the values of a measure has at most MAX_MANUAL_VALUE_LINES lines.
MAX_MANUAL_VALUE_LINES, MAX_MANUAL_VALUES_CHARACTERS = 5_000, 200_000
#: An error message lists at most MAX_FAULTY_LINES_LISTED faulty lines.
MAX_FAULTY_LINES_LISTED = 20


@dataclass(frozen=True, kw_only=True)
class ManualScores:
    measures: Sequence[ManualMeasure]
    values: Mapping[int, Mapping[int, float]]

    def value(self, measure: ManualMeasure, submission: int) -> float | None:
        return self.values[measure.pk].get(submission)

    def of(self, submission: int) -> dict[str, float]:
        return {
            measure.name: value
            for measure in self.measures
            if (value := self.value(measure, submission)) is not None
        }


def load_manual_scores(board: Board, rows: Sequence[BoardRow]) -> ManualScores:
    if board.visibility != BoardVisibility.SCORES:
        return ManualScores(measures=[], values={})
    scores = ManualScore.objects.filter(
        measure__phase=board.phase,
        submission__in=[row.submission for row in expand_rows_to_runs(rows)],
    )
    if board.frozen_at is not None:
        scores = scores.filter(measure__entered_at__lte=board.frozen_at)
    values: dict[int, dict[int, float]] = {}
    for measure, submission, value in scores.values_list(
        "measure_id", "submission_id", "value"
    ):
        values.setdefault(measure, {})[submission] = value
    return ManualScores(
        measures=list(ManualMeasure.objects.filter(pk__in=values)), values=values
    )


def _validate_name_and_source(name: str, source: str, *, has_values: bool) -> None:
    """Raise ValidationError if the name of a manual measure or the source of its values
    is missing or too long.
    """
    faults = {}
    if not name or len(name) > MAX_MEASURE_NAME_CHARACTERS:
        words = _(
            "the name has %(characters)s characters; from 1 to %(most)s are allowed"
        )
        faults["name"] = words % {
            "characters": len(name),
            "most": MAX_MEASURE_NAME_CHARACTERS,
        }
    if has_values and (not source or len(source) > MAX_SOURCE_CHARACTERS):
        words = _("say who measured it and where, in at most %(most)s characters")
        faults["source"] = words % {"most": MAX_SOURCE_CHARACTERS}
    if faults:
        raise ValidationError(faults)


def save_manual_measure(
    *,
    phase: Phase,
    name: str,
    higher_is_better: bool,
    source: str,
    values: str,
    by: User,
) -> ManualMeasure | None:
    """Replace the values of a manual measure by the values in the lines `RUN VALUE`, or
    delete the measure if the text has no lines.
    """
    name, source = (
        plain_text.clean_single_line_text(name),
        plain_text.clean_single_line_text(source),
    )
    entered = _parse_manual_values(phase, values)
    _validate_name_and_source(name, source, has_values=bool(entered))
    with transaction.atomic():
        locked = lock_phase(phase)
        before = ManualMeasure.objects.filter(phase=locked, name=name).first()
        was = _manual_measure_as_dict(before)
        if before is None and not entered:
            raise ValidationError({"values": _("give the value of at least one run")})
        if (
            before is None
            and ManualMeasure.objects.filter(phase=locked).count()
            >= MAX_MEASURES_PER_PHASE
        ):
            words = _("the phase has %(most)s measures; more are not allowed") % {
                "most": MAX_MEASURES_PER_PHASE
            }
            raise ValidationError({"name": words})
        said: dict[str, Any] = {"source": source, "higher_is_better": higher_is_better}
        if was == {
            **said,
            "values": {str(run): entered[run] for run in sorted(entered)},
        }:
            return before
        if before is not None:
            before.delete()
        measure = None
        if entered:
            measure = ManualMeasure.objects.create(
                phase=locked, name=name, entered_at=timezone.now(), **said
            )
            ManualScore.objects.bulk_create(
                ManualScore(measure=measure, submission_id=run, value=value)
                for run, value in entered.items()
            )
        is_now = _manual_measure_as_dict(measure)
        if is_now != was:
            seasons.increment_board_version(locked.pk)
            facts: dict[str, object] = {
                "name": name,
                "phase": f"{locked.task}, {locked}",
            }
            if is_now:
                facts["scores"] = len(is_now["values"])
            changes = [
                audit.SettingChange(f"{name}, {part}", was.get(part), is_now.get(part))
                for part in ("higher_is_better", "source", "values")
                if was.get(part) != is_now.get(part)
            ]
            key = "outside-scores" if is_now else "outside-scores/removed"
            place = locked.task.season
            audit.record_action(
                key, actor=by, subject=locked, place=place, facts=facts, changes=changes
            )
    return measure


def _manual_measure_as_dict(measure: ManualMeasure | None) -> dict[str, Any]:
    if measure is None:
        return {}
    values = dict(measure.scores.values_list("submission_id", "value"))
    return {
        "source": measure.source,
        "higher_is_better": measure.higher_is_better,
        "values": {str(run): values[run] for run in sorted(values)},
    }


def format_manual_value_lines(
    measure: ManualMeasure, viewer: object
) -> tuple[str, str]:
    """Return the values of a manual measure as one text with the lines of runs on the
    board, and one text with the lines of other runs.
    """
    rows = expand_rows_to_runs(compute_board(measure.phase, viewer).rows)
    standing = {row.submission for row in rows}
    lines: dict[bool, list[str]] = {True: [], False: []}
    for run, value in _manual_measure_as_dict(measure)["values"].items():
        lines[int(run) in standing].append(f"{run} {value!r}")
    return "\n".join(lines[True]), "\n".join(lines[False])


def list_manual_scores_of_run(submission: Submission) -> list[tuple[str, str]]:
    """Return the scores that organisers entered for a run, even if the run does not
    count on the board.
    """
    scores = submission.manual_scores.select_related("measure")
    return [(score.measure.name, format_number(score.value)) for score in scores]


def _parse_manual_values(phase: Phase, text: str) -> dict[int, float]:
    lines = text.splitlines()
    if len(text) > MAX_MANUAL_VALUES_CHARACTERS or len(lines) > MAX_MANUAL_VALUE_LINES:
        counts = {
            "lines": localize_separators(f"{len(lines):,}"),
            "most": localize_separators(f"{MAX_MANUAL_VALUE_LINES:,}"),
        }
        raise ValidationError(
            {
                "values": _("there are %(lines)s lines; at most %(most)s are read")
                % counts
            }
        )
    runs = set(Submission.objects.filter(phase=phase).values_list("pk", flat=True))
    values: dict[int, float] = {}
    faults: list[str] = []
    for number, line in enumerate(lines, start=1):
        parts = line.replace(",", " ").replace(";", " ").split()
        if not parts:
            continue
        run, value = "", math.nan
        if len(parts) == 2:
            with suppress(ValueError):
                run, value = parts[0], float(parts[1])
        if not math.isfinite(value) or not (
            run.isascii() and run.isdigit() and len(run) < 16
        ):
            words = _(
                "line %(number)s: “%(line)s” is not the number of a run and a value"
            )
        elif int(run) not in runs:
            words = _("line %(number)s: the phase has no run %(run)s")
        elif int(run) in values:
            words = _("line %(number)s: run %(run)s has a value already")
        else:
            values[int(run)] = value
            continue
        faults.append(words % {"number": number, "line": line[:60], "run": run})
    if len(faults) > MAX_FAULTY_LINES_LISTED:
        faults[MAX_FAULTY_LINES_LISTED:] = [
            _("and %(more)s more") % {"more": len(faults) - MAX_FAULTY_LINES_LISTED}
        ]
    if faults:
        raise ValidationError({"values": faults})
    return values


@dataclass(frozen=True, kw_only=True)
class TeamReportedFigures:
    measures: list[TeamReportedMeasure]
    rows: list[BoardRow]
    #: ``figures`` maps a submission and the name of a measure to the team's figure.
    figures: Mapping[int, Mapping[str, float]]

    @property
    def cost_measures(self) -> list[TeamReportedMeasure]:
        return [measure for measure in self.measures if measure.is_cost]

    def value(self, row: BoardRow, measure: TeamReportedMeasure) -> float | None:
        return self.figures[row.submission].get(measure.name)


def load_team_figures_by_run(rows: Sequence[BoardRow]) -> dict[int, dict[str, float]]:
    by_run: dict[int, dict[str, float]] = defaultdict(dict)
    runs = [row.submission for row in expand_rows_to_runs(rows)]
    figures = TeamFigure.objects.filter(submission__in=runs)
    for submission, name, value in figures.values_list(
        "submission_id", "name", "value"
    ):
        by_run[submission][name] = value
    return dict(by_run)


def load_team_reported_figures(board: Board) -> TeamReportedFigures:
    figures = load_team_figures_by_run(board.rows)
    rows = [row for row in expand_rows_to_runs(board.rows) if row.submission in figures]
    occurring = {name for one in figures.values() for name in one}
    measures = [
        measure
        for measure in TEAM_MEASURES_BY_NAME.values()
        if measure.name in occurring
    ]
    return TeamReportedFigures(measures=measures, rows=rows, figures=figures)


def format_team_reported_figures(submission: Submission) -> list[tuple[str, str]]:
    values = {figure.name: figure.value for figure in submission.team_figures.all()}
    return [
        (measure.label, f"{format_number(values[measure.name])} {measure.unit}".strip())
        for measure in TEAM_MEASURES_BY_NAME.values()
        if measure.name in values
    ]


def format_number(value: float | None) -> str:
    """Return a number as text, with thousands separators for whole numbers and with six
    significant digits for other numbers.
    """
    return (
        ""
        if value is None
        else localize_separators(
            f"{value:,.0f}" if value == int(value) else f"{value:,.6g}"
        )
    )
