"""Submit the runs of another platform to a phase of this site, for the teams with the
same names.

The site stores the scores of the other platform next to the runs, for comparison.
"""

import secrets
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _, gettext_noop

from citeboard.core import audit
from citeboard.core.confinement import (
    UploadUnreadable,
    build_organiser_upload_limits,
    read_upload,
)
from citeboard.core.refusals import ActionRefused
from citeboard.teams.membership import create_team
from citeboard.teams.models import Team, User
from scoring.exchange.bundles.importing import PART_NAME_PATTERN
from scoring.exchange.bundles.old_runs import (
    MAX_TEAM_OR_RUN_NAME_LENGTH,
    READING_PROGRAM,
    SCORE_LIST_FILE_NAME,
)
from scoring.metrics import build_metrics
from scoring.models import ManualMeasure
from scoring.results.board.manual_scores import (
    MAX_MEASURE_NAME_CHARACTERS as MAX_MEASURE,
    save_manual_measure,
)
from tasks.models import Gold, Phase, Registration, Season, Submission
from tasks.registration.entries import draw_free_team_alias
from tasks.submissions.refusals import RunRejected
from tasks.submissions.submit import submit_earlier_run
from tasks.submissions.uploads import UploadedRunFile, compute_sha256_of_file
from tasks.types import InputRefused, Problem
from tasks.types.problems import convert_dicts_to_problems, select_problems_to_list

#: The report shows at most MAX_PROBLEMS_REPORTED_PER_RUN problems of one run.
MAX_PROBLEMS_REPORTED_PER_RUN = 5


class OldRunsRefused(ActionRefused):
    status = 422


@dataclass
class RescoredOldRuns:
    """The runs of another platform that one request has queued, and the problems of
    refused runs.

    ``present`` is the number of runs that an earlier request has queued. ``old_scores``
    contains the scores that the other platform computed. The dictionaries of this class
    are keyed by the number of the run.
    """

    runs: dict[int, Submission] = field(default_factory=dict)
    present: int = 0
    refused: int = 0
    problems: list[Problem] = field(default_factory=list)
    old_scores: dict[int, Mapping[str, float]] = field(default_factory=dict)
    measures: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _UploadedOldRun:
    team: str
    system: str
    upload: UploadedRunFile
    scores: Mapping[str, float]


def require_phase_for_old_runs(phase: Phase) -> Phase:
    """Return the phase to which runs of another platform can be submitted. Raises
    OldRunsRefused unless the phase belongs to a declared task with gold.
    """
    if Gold.objects.current(phase) is None or phase.task.task_type.declared is None:
        words = _("runs are rescored on a declared task whose split has gold")
        raise OldRunsRefused(words)
    return phase


def queue_and_finish_old_runs(
    *, phase: Phase, path: Path, filename: str, by: User | None
) -> RescoredOldRuns:
    """Queue the runs of another platform in a zip archive, and store the scores that
    the other platform computed. Raises InputRefused if the archive cannot be read.
    """
    done_again = queue_old_runs(
        phase=phase, path=path, filename=filename, by=by, order=secrets.token_hex(8)
    )
    with transaction.atomic():
        save_old_scores(phase, done_again, filename, by)
    return done_again


def queue_old_runs(
    *,
    phase: Phase,
    path: Path,
    filename: str,
    by: User | None,
    order: str,
    tell: Callable[[float, str], None] = lambda share, doing: None,
) -> RescoredOldRuns:
    """Queue the runs of another platform in a zip archive, each run in its own
    transaction. Raises InputRefused if the archive cannot be read.

    ``order`` identifies the request. If an interrupted request is repeated, the result
    includes the runs that were queued before the interruption. ``tell`` is called
    before each run with the completed share of the runs, and may raise an exception to
    stop the request.
    """
    gold = Gold.objects.current(require_phase_for_old_runs(phase))
    declared = phase.task.task_type.declared
    assert gold is not None
    assert declared is not None
    given = {
        "filename": filename,
        "form": declared.form,
        "instances": gold.instances,
    }
    done_again = RescoredOldRuns()
    with tempfile.TemporaryDirectory(prefix="citeboard-runs-") as scratch:
        runs = _read_old_runs(path, given, Path(scratch), by, done_again)
        for place, old in enumerate(runs):
            tell(place / len(runs), gettext_noop("checking the runs"))
            _queue_old_run(phase, old, by, order, done_again)
    return done_again


def save_old_scores(
    phase: Phase, done_again: RescoredOldRuns, filename: str, by: User | None
) -> None:
    """Save the scores that another platform computed for the queued runs, and an entry
    of the season's history. The caller must open a transaction.
    """
    if by is not None and done_again.old_scores:
        _save_manual_scores(phase, done_again, filename, by)
    if done_again.runs:
        facts = {"runs": len(done_again.runs), "phase": f"{phase.task}, {phase}"}
        place = phase.task.season
        audit.record_action(
            "runs-scored-again", actor=by, subject=phase, place=place, facts=facts
        )


def _read_old_runs(
    path: Path,
    given: Mapping[str, Any],
    scratch: Path,
    by: User | None,
    done_again: RescoredOldRuns,
) -> list[_UploadedOldRun]:
    try:
        with read_upload(
            READING_PROGRAM,
            path,
            given,
            owner=by,
            limits=build_organiser_upload_limits(),
        ) as done:
            told = done.result
            found = convert_dicts_to_problems(told["problems"])
            if not told["runs"]:
                raise InputRefused(found)
            done_again.problems += found
            runs = []
            for number, own in enumerate(told["runs"]):
                if own["problem"] or not PART_NAME_PATTERN.fullmatch(own["part"]):
                    _record_refused_run(
                        done_again,
                        f"{own['team']}/{own['system']}",
                        [Problem(message=own["problem"])],
                    )
                    continue
                copy = scratch / f"{number}"
                shutil.copyfile(done.file(own["part"]), copy)
                upload = UploadedRunFile(copy, f"{own['system']}{own['suffix']}")
                runs.append(
                    _UploadedOldRun(own["team"], own["system"], upload, own["scores"])
                )
            return runs
    except UploadUnreadable as unreadable:
        problem = Problem(file=given["filename"], message=str(unreadable))
        raise InputRefused([problem]) from unreadable


def _record_refused_run(
    done_again: RescoredOldRuns, name: str, problems: Sequence[Problem]
) -> None:
    done_again.refused += 1
    first, left = select_problems_to_list(problems, MAX_PROBLEMS_REPORTED_PER_RUN)
    done_again.problems += [replace(problem, file=name) for problem in first]
    if left:
        rest = Problem(file=name, message="more problems", count=left, is_rest=True)
        done_again.problems.append(rest)


def _queue_old_run(
    phase: Phase,
    old: _UploadedOldRun,
    by: User | None,
    order: str,
    done_again: RescoredOldRuns,
) -> None:
    sha256 = compute_sha256_of_file(old.upload.path)
    key = f"old-runs-{order}-{sha256}"
    name = f"{old.team}/{old.system}"
    before = Submission.objects.filter(
        phase=phase, team__name=old.team, team__memberships=None, sha256=sha256
    ).select_related("team")
    try:
        run = before.order_by("pk").first() or submit_earlier_run(
            phase=phase,
            enter=partial(_get_or_create_team_by_name, phase, old.team, by),
            upload=old.upload,
            system=old.system[:MAX_TEAM_OR_RUN_NAME_LENGTH],
            by=by,
            idempotency_key=key,
        )
    except ValidationError as refused:
        _record_refused_run(
            done_again, name, [Problem(message=" ".join(refused.messages))]
        )
        return
    except RunRejected as refused:
        _record_refused_run(done_again, name, refused.problems)
        return
    except ActionRefused as refused:
        _record_refused_run(done_again, name, [Problem(message=str(refused))])
        return
    if run.idempotency_key != key:
        done_again.present += 1
    else:
        done_again.runs[run.pk] = run
    if old.scores:
        done_again.old_scores[run.pk] = old.scores


def _get_or_create_team_by_name(phase: Phase, name: str, by: User | None) -> Team:
    """Return the season's team with this name, or create a team without members if no
    such team exists.

    Raises ValidationError if the team has members or has not registered for the season,
    because organisers may not act for such a team.
    """
    if team := _find_memberless_team(phase.task.season_id, name):
        return team
    # Lock the season, so that concurrent requests do not create the same team twice.
    # The lock also prevents concurrent requests from giving two teams one pseudonym.
    season = Season.objects.select_for_update().get(pk=phase.task.season_id)
    if team := _find_memberless_team(season.pk, name):
        return team
    team = create_team(name)
    Registration.objects.create(
        season=season, team=team, is_approved=True, alias=draw_free_team_alias(season)
    )
    audit.record_action(
        "team-entered", actor=by, subject=team, place=season, facts={"team": team}
    )
    return team


def _find_memberless_team(season: int, name: str) -> Team | None:
    entered = Registration.objects.filter(season=season, is_approved=True)
    present = entered.filter(team__name=name).select_related("team").first()
    if present is None:
        return None
    if present.team.memberships.exists():
        words = _("“%(name)s” is a team with members; only they submit its runs")
        raise ValidationError({"file": words % {"name": name}})
    return present.team


def _save_manual_scores(
    phase: Phase, done_again: RescoredOldRuns, filename: str, by: User
) -> None:
    directions = _list_metric_directions(phase)
    scores = done_again.old_scores
    columns = dict.fromkeys(name for own in scores.values() for name in own)
    for column in columns:
        name = _("%(measure)s, as it was") % {"measure": column[: MAX_MEASURE - 20]}
        values = dict(
            ManualMeasure.objects.filter(phase=phase, name=name).values_list(
                "scores__submission", "scores__value"
            )
        )
        values |= {run: own[column] for run, own in scores.items() if column in own}
        lines = "\n".join(f"{run} {value!r}" for run, value in values.items() if run)
        try:
            save_manual_measure(
                phase=phase,
                name=name,
                higher_is_better=directions.get(column.casefold(), directions[""]),
                source=_("scores.csv of %(file)s") % {"file": filename[:100]},
                values=lines,
                by=by,
            )
        except ValidationError as refused:
            message = f"{name}: {' '.join(refused.messages)}"
            done_again.problems.append(
                Problem(file=SCORE_LIST_FILE_NAME, message=message)
            )
        else:
            done_again.measures.append(name)


def _list_metric_directions(phase: Phase) -> dict[str, bool]:
    task = phase.task
    metrics: Sequence[Any] = build_metrics(
        task.task_type,
        task.ranking_rules,
        task.task_type.validate_options(task.options),
    )
    return {metric.name.casefold(): metric.higher_is_better for metric in metrics} | {
        "": metrics[0].higher_is_better
    }
