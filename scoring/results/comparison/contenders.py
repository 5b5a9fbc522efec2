"""Select the runs that a viewer may compare, whose scores the viewer may see."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef
from django.http import Http404
from django.utils.translation import gettext as _

from citeboard.core.query import (
    PageParameters,
    declare_number_list_parameter,
    declare_number_parameter,
    declare_search_parameter,
    declare_switch_parameter,
    declare_text_parameter,
)
from citeboard.teams.access import find_teams_of_user
from scoring.models import Evaluation
from scoring.results.board.standings import Board, expand_rows_to_runs
from scoring.results.board.visibility import may_see_scores
from tasks.models import Submission

#: A list for choosing a run has at most MAX_OWN_RUNS_OFFERED runs of the viewer's own teams.
MAX_OWN_RUNS_OFFERED = 100


@dataclass(frozen=True, kw_only=True)
class ComparableRun:
    run: int
    system: str
    display_name: str

    @property
    def label(self) -> str:
        return f"{self.system} ({self.display_name})"


def list_comparable_runs_on_board(board: Board) -> list[ComparableRun]:
    return [
        ComparableRun(
            run=row.submission,
            system=row.system,
            display_name=_("%(team)s, run %(number)s")
            % {"team": row.display_name, "number": row.number}
            if is_seed
            else row.display_name,
        )
        for each in board.systems
        for row, is_seed in [(run, True) for run in each.runs] or [(each, False)]
        if row.scores
    ]


def list_comparable_runs_of_own_teams(
    board: Board, viewer: object
) -> list[ComparableRun]:
    scores = Evaluation.objects.with_scores_existing_at(board.frozen_at)
    scored = scores.filter(
        submission=OuterRef("pk"), gold=board.gold, rules=board.rules
    )
    own = Submission.objects.filter(
        phase=board.phase, team__in=find_teams_of_user(viewer)
    )
    runs = own.filter(Exists(scored), status=Submission.Status.SCORED).select_related(
        "team"
    )
    runs = runs.exclude(exclusion=Submission.Exclusion.DISQUALIFIED).order_by(
        "-submitted_at", "-pk"
    )
    shown = {row.submission for row in expand_rows_to_runs(board.rows) if row.scores}
    unseen = [run for run in runs[:MAX_OWN_RUNS_OFFERED] if run.pk not in shown]
    for run in unseen:
        run.phase = board.phase
    # As the runs are in one phase and of the viewer's teams, check one run.
    return (
        [_build_comparable_run(run) for run in unseen]
        if unseen and may_see_scores(unseen[0], viewer)
        else []
    )


def _build_comparable_run(run: Submission) -> ComparableRun:
    display_name = _("baseline")
    if run.team:
        display_name = _("%(team)s, run %(number)s") % {
            "team": run.team.name,
            "number": run.number,
        }
    return ComparableRun(run=run.pk, system=run.system, display_name=display_name)


PairOfComparableRuns = tuple[ComparableRun, ComparableRun]


def find_comparable_run_or_404(
    board: Board, viewer: object, offered: Iterable[ComparableRun], number: int
) -> ComparableRun:
    if chosen := next(
        (contender for contender in offered if contender.run == number), None
    ):
        return chosen
    scored = Submission.objects.filter(
        phase=board.phase, pk=number, status=Submission.Status.SCORED
    )
    scored = scored.exclude(kind=Submission.Kind.HUMAN).exclude(
        exclusion=Submission.Exclusion.DISQUALIFIED
    )
    run = scored.select_related("team", "phase__task").first()
    if run is None or not may_see_scores(run, viewer):
        raise Http404(
            _("There is no run here whose numbers are shown to you under this number.")
        )
    return _build_comparable_run(run)


def choose_two_runs_to_compare(
    board: Board,
    viewer: object,
    offered: Sequence[ComparableRun],
    numbers: tuple[int | None, int | None],
) -> PairOfComparableRuns | None:
    a, b = (
        None
        if number is None
        else find_comparable_run_or_404(board, viewer, offered, number)
        for number in numbers
    )
    if a is None:
        a = next((contender for contender in offered if contender != b), None)
    if b is None and a is not None:
        place = next(
            (place for place, contender in enumerate(offered) if contender == a), -1
        )
        beside = [*reversed(offered[: max(place, 0)]), *offered[place + 1 :]]
        b = next((contender for contender in beside if contender != a), None)
    return (a, b) if a is not None and b is not None and a != b else None


def find_newest_evaluations_of_runs(
    board: Board, contenders: Iterable[ComparableRun]
) -> list[Evaluation | None]:
    """Return the newest evaluation of each compared run on the board's gold and rule
    set.
    """
    runs = [contender.run for contender in contenders]
    known = Evaluation.objects.with_scores_existing_at(board.frozen_at)
    scored = known.filter(
        submission__in=runs, rules=board.rules, gold=board.gold
    ).order_by("pk")
    newest = {}
    for evaluation in scored.select_related("submission", "gold").prefetch_related(
        "scores"
    ):
        evaluation.phase = evaluation.submission.phase = board.phase
        newest[evaluation.submission_id] = evaluation
    return [newest.get(run) for run in runs]


#: INSTANCE_EXPORT_FORMATS are formats of exported instances; EVERY_EVAL_EVER_FORMAT needs a single run.
CSV_FORMAT, WORKBOOK_FORMAT, EVERY_EVAL_EVER_FORMAT = INSTANCE_EXPORT_FORMATS = (
    "csv",
    "xlsx",
    "every-eval-ever.zip",
)


@dataclass(frozen=True, kw_only=True)
class InstancesQuery(PageParameters):
    """The query parameters that select instances on the pages of answers. ``instance``
    is the name of a single instance, and ``kind`` selects instances by their outcome.
    """

    rules: str | None = declare_text_parameter("rules", default=None)
    metric: str = declare_text_parameter("metric")
    which: str = declare_text_parameter("which")
    of_class: str = declare_text_parameter("class")
    kind: str = declare_text_parameter("outcome")
    text: str = declare_search_parameter("q")
    instance: str = declare_text_parameter("instance", max_length=1_000)
    page: int = declare_number_parameter("page", default=1)
    as_file: str = declare_text_parameter("as", choices=INSTANCE_EXPORT_FORMATS)


@dataclass(frozen=True, kw_only=True)
class AllSystemsInstancesQuery(InstancesQuery):
    """The query parameters that select instances of the run with the id ``run``. An
    HTML form cannot put the id of the run into the path of the URL.
    """

    run: int | None = declare_number_parameter("run")


@dataclass(frozen=True, kw_only=True)
class TwoRunsInstancesQuery(InstancesQuery):
    a: int | None = declare_number_parameter("a")
    b: int | None = declare_number_parameter("b")
    gold: int | None = declare_number_parameter("gold")


@dataclass(frozen=True, kw_only=True)
class SeveralRunsQuery(PageParameters):
    runs: tuple[int, ...] = declare_number_list_parameter("run")
    rules: str | None = declare_text_parameter("rules", default=None)
    gold: int | None = declare_number_parameter("gold")
    dimension: str = declare_text_parameter("dimension")
    metric: str = declare_text_parameter("metric")


@dataclass(frozen=True, kw_only=True)
class TwoRunsQuery(PageParameters):
    """The query parameters of the page that compares two runs. ``a`` and ``b`` are the
    ids of the compared runs. If ``tests`` is True, the page computes slow tests
    immediately.
    """

    a: int | None = declare_number_parameter("a")
    b: int | None = declare_number_parameter("b")
    rules: str | None = declare_text_parameter("rules", default=None)
    gold: int | None = declare_number_parameter("gold")
    dimension: str = declare_text_parameter("dimension")
    metric: str = declare_text_parameter("metric")
    label: str = declare_text_parameter("class")
    page: int = declare_number_parameter("page", default=1)
    figure: str = declare_text_parameter("figure", max_length=80)
    tests: bool = declare_switch_parameter("tests", "now", default=False)
