"""Problems and pending decisions of a season for organisers, with the most urgent
first.
"""

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import Any, Self

from django.db.models import Count, Exists, Min, OuterRef, Q, QuerySet, Sum
from django.db.models.functions import Coalesce
from django.urls import reverse
from django.utils.timezone import now
from django.utils.translation import gettext as _, ngettext

from citeboard.core.audit import find_history_of_place
from citeboard.core.words import count_with_noun, join_names
from citeboard.ops.launching import find_phases_to_score
from citeboard.ops.season_progress import (
    describe_why_run_waits,
    find_failed_rescoring_jobs,
    find_failed_runs,
)
from scoring.models import Evaluation
from scoring.results.board import confirming, counting, visibility
from scoring.results.board.limit_texts import describe_probe_sign
from scoring.results.board.standings import compute_board
from tasks.delivery.notifications.events import REMINDER_LEAD_TIME
from tasks.gold.early import find_embargo_clashes
from tasks.jobs import tallies
from tasks.jobs.leases import make_admin_wait_filter
from tasks.jobs.queue_choice import explain_unserved_queue
from tasks.models import (
    Acknowledgement,
    Gold,
    Job,
    Notification,
    Phase,
    Question,
    Registration,
    Season,
    Submission,
    Tallied,
)
from tasks.models.run_cards import COSTS_REQUIREMENT, METHOD_REQUIREMENT
from tasks.seasons.cards import get_task_card

RunStatus = Submission.Status

#: If a run waits longer than MAX_RUN_WAITING_TIME, probably no worker is free or running.
MAX_RUN_WAITING_TIME = dt.timedelta(minutes=10)
#: A phase without gold is a problem if the phase opens within the time GOLD_REMINDER_PERIOD.
GOLD_REMINDER_PERIOD = dt.timedelta(days=14)
MAX_CONCERN_LINES_SHOWN = 8
#: Organisers should avoid the actions in ACTIONS_REPORTED_IF_LATE shortly before a phase ends.
ACTIONS_REPORTED_IF_LATE = (
    "terms-published",
    "settings-changed",
    "phase-changed",
    "phase-moved",
    "gold-added",
    "declared-anew",
)


@dataclass(frozen=True)
class SeasonConcernLine:
    name: str
    href: str
    words: str
    since: dt.datetime | None = None
    failure: dict[str, int] | None = None


@dataclass(frozen=True)
class SeasonConcern:
    """A list of problems of one kind in a season.

    ``total`` is the number of all problems, including problems that ``lines`` omits.
    ``all_href`` is the URL of a page with all problems of this kind.
    """

    name: str
    title: str
    lines: Sequence[SeasonConcernLine]
    total: int
    advice: str = ""
    all_href: str = ""

    @classmethod
    def of(
        cls, name: str, title: str, lines: Sequence[SeasonConcernLine], advice: str = ""
    ) -> Self:
        return cls(
            name=name,
            title=title,
            lines=lines[:MAX_CONCERN_LINES_SHOWN],
            total=len(lines),
            advice=advice,
        )

    @classmethod
    def from_queryset(
        cls,
        name: str,
        title: str,
        rows: QuerySet[Any],
        line: Callable[[Any], SeasonConcernLine],
        *more: str,
    ) -> Self:
        lines = [line(row) for row in rows[:MAX_CONCERN_LINES_SHOWN]]
        return cls(
            name,
            title,
            lines,
            rows.count() if len(lines) == MAX_CONCERN_LINES_SHOWN else len(lines),
            *more,
        )

    @property
    def more(self) -> int:
        return self.total - len(self.lines)


def find_season_concerns(season: Season) -> list[SeasonConcern]:
    looks = (
        _find_failed_runs,
        _find_failed_rescorings,
        _find_gold_problems,
        _find_embargoes_of_other_phases,
        _find_guessable_public_parts,
        _find_late_changes,
        _find_boards_without_baseline,
        _find_tasks_without_card,
        _find_boards_without_first_rank,
        _find_undeliverable_mails,
        _find_columns_without_value,
        _find_copied_runs_between_teams,
        _find_runs_resembling_probes,
        _find_contested_results,
        _find_teams_awaiting_decision,
        _find_open_questions,
        _find_unserved_queues,
        _find_long_waiting_runs,
        _find_teams_without_score,
    )
    return [concern for look in looks if (concern := look(season)).total]


def _find_failed_runs(season: Season) -> SeasonConcern:
    return SeasonConcern.from_queryset(
        "failed-runs",
        _("Runs that failed"),
        find_failed_runs(season).exclude(Acknowledgement.objects.of_run()),
        lambda run: replace(
            _build_run_line(run, run.reason), failure={"submission": run.pk}
        ),
        _(
            "The tries came back to their teams. Where the reason is on our side, fix "
            "it and rescore the runs."
        ),
        f"{_build_season_page_address('organise-runs', season)}?status=failed",
    )


def _find_failed_rescorings(season: Season) -> SeasonConcern:
    jobs = find_failed_rescoring_jobs(season).exclude(
        Acknowledgement.objects.exists_for_job_failure()
    )
    lines = []
    for job in jobs[:MAX_CONCERN_LINES_SHOWN]:
        words = _("under %(rules)s, gold v%(gold)s: %(reason)s")
        words %= {"rules": job.rules, "gold": job.gold.number, "reason": job.reason}
        line = _build_run_line(job.submission, words, job.finished_at)
        lines.append(
            replace(line, failure={"submission": job.submission.pk, "job": job.pk})
        )
    advice = _(
        "Until you acknowledge them the board keeps the numbers of the older gold; then it goes on without "
        "these runs."
    )
    title = _("Scored runs that could not be rescored")
    return SeasonConcern("failed-rescorings", title, lines, jobs.count(), advice)


def _find_gold_problems(season: Season) -> SeasonConcern:
    lines = []
    at = now()
    for phase in find_phases_to_score(season):
        newest = Gold.objects.current(phase)
        standing = counting.find_gold_on_board(phase) if newest else None
        if newest is None:
            if phase.closes > at and phase.opens < at + GOLD_REMINDER_PERIOD:
                words = _(
                    "The split “%(split)s” has no gold, so that no run is accepted."
                )
                lines.append(
                    _build_phase_line(
                        phase, "organise-gold", words % {"split": phase.split}
                    )
                )
        elif standing and standing.pk != newest.pk:
            waiting = counting.find_unfinished_runs_on_gold(phase, newest).count()
            words = ngettext(
                "The board rests on gold v%(gold)s; %(runs)s has not been scored "
                "against v%(newest)s.",
                "The board rests on gold v%(gold)s; %(runs)s have not been scored "
                "against v%(newest)s.",
                waiting,
            )
            if not waiting:
                waiting = counting.find_runs_failed_on_gold(phase, newest).count()
                words = _(
                    "The board stays on gold v%(gold)s: %(runs)s failed against v%(newest)s."
                )
            words %= {
                "gold": standing.number,
                "runs": count_with_noun(waiting, "run"),
                "newest": newest.number,
            }
            lines.append(
                _build_phase_line(phase, "organise-gold", words, newest.created_at)
            )
    return SeasonConcern.of("gold", _("Gold"), lines)


def _find_embargoes_of_other_phases(season: Season) -> SeasonConcern:
    message = _("Not shown yet: %(what)s.")
    lines = [
        _build_phase_line(
            early.phase, "organise-secrecy", message % {"what": early.words}
        )
        for early in find_embargo_clashes(
            find_phases_to_score(season).filter(closes__gt=now())
        )
    ]
    advice = _(
        "These phases show it by their own settings; it is shown from the named "
        "instant. To show it earlier, change what the other phase shows."
    )
    return SeasonConcern.of("kept-back", _("Withheld by another phase"), lines, advice)


def _find_late_changes(season: Season) -> SeasonConcern:
    at = now()
    lines = [
        _build_phase_line(
            phase, "organise-history", f"{changed.who} {changed.words}.", changed.at
        )
        for changed in find_history_of_place(season).filter(
            at__gt=at - REMINDER_LEAD_TIME, action__in=ACTIONS_REPORTED_IF_LATE
        )[:1]
        for phase in find_phases_to_score(season).filter(
            closes__gt=at, closes__lte=at + REMINDER_LEAD_TIME
        )
    ]
    advice = _("Teams may not have seen it; announce it, or move the end.")
    return SeasonConcern.of(
        "late-changes", _("Changed within 48 hours of an end"), lines, advice
    )


def _find_boards_without_baseline(season: Season) -> SeasonConcern:
    scored = Submission.objects.filter(phase=OuterRef("pk"), status=RunStatus.SCORED)
    phases = find_phases_to_score(season).filter(Exists(scored), closes__gt=now())
    # The query filters by team, because SQLite would otherwise scan all scored runs.
    baselines = Submission.objects.filter(
        phase__in=phases, team=None, kind=Submission.Kind.BASELINE
    )
    have = {
        phase
        for phase, status in baselines.values_list("phase", "status")
        if status == RunStatus.SCORED
    }
    message = _(
        "No baseline is on the board, so that nobody can tell what a score is worth."
    )
    lines = [
        _build_phase_line(phase, "organise-baselines", message)
        for phase in phases
        if phase.pk not in have
    ]
    return SeasonConcern.of("no-baseline", _("Boards without a baseline"), lines)


def _find_tasks_without_card(season: Season) -> SeasonConcern:
    words = _("It has no card, so that nobody reads what is asked and in which format.")
    lines = [
        SeasonConcernLine(
            str(task), _build_season_page_address("organise-settings", season), words
        )
        for task in season.tasks.filter(is_reported_only=False)
        if not get_task_card(task).text.strip()
    ]
    for phase in find_phases_to_score(season):
        empty = {
            METHOD_REQUIREMENT: Q(description=""),
            COSTS_REQUIREMENT: Q(team_figures=None),
        }
        lacks = [
            empty.get(name, ~Q(card__has_key=name)) for name in phase.card_required
        ]
        standing = Submission.objects.filter(
            phase=phase, team__isnull=False, status=RunStatus.SCORED
        )
        lacking = (
            standing.filter(reduce(or_, lacks), exclusion="").count() if lacks else 0
        )
        if lacking:
            words = _("%(runs)s without all that the phase requires of run cards.")
            words %= {"runs": count_with_noun(lacking, "scored run")}
            lines.append(_build_phase_line(phase, "organise-runs", words))
    return SeasonConcern.of("no-card", _("What has no card"), lines)


def _find_guessable_public_parts(season: Season) -> SeasonConcern:
    lines = [
        SeasonConcernLine(
            f"{phase.task}, {phase}",
            reverse("organise-settings-phase", args=[season.slug, phase.pk]),
            _("The part %(part)s was drawn by the answers and a seed.")
            % {"part": phase.get_scored_part_at(now())},
        )
        for phase in find_phases_to_score(season)
        if phase.has_guessable_part and phase.accepts_runs_until > now()
    ]
    advice = _(
        "Readers can guess answers from such a part. The settings of the phase offer a new draw by a secret."
    )
    return SeasonConcern.of(
        "parts", _("Public parts that can be guessed"), lines, advice
    )


def _find_boards_without_first_rank(season: Season) -> SeasonConcern:
    lines = []
    for phase in find_phases_to_score(season).filter(opens__lte=now()):
        board = compute_board(phase, None, audience=visibility.Audience.ORGANISER)
        ranked = sum(row.rank is not None for row in board.rows)
        if 1 < ranked == len(board.rows_that_may_be_first):
            message = _("Any of %(systems)s may be first.") % {
                "systems": count_with_noun(ranked, "ranked system")
            }
            if verdict := board.verdict:
                message = f"{message} {verdict.text}"
            lines.append(_build_phase_line(phase, "organise-power", message))
    advice = _(
        "A larger test set separates more systems; the linked page says how large it "
        "must be."
    )
    return SeasonConcern.of(
        "no-first-rank", _("Boards without a legible first rank"), lines, advice
    )


def _find_undeliverable_mails(season: Season) -> SeasonConcern:
    lost = Notification.objects.filter(season=season, job__state=Job.State.FAILED)
    href = _build_season_page_address("organise-teams", season)
    return SeasonConcern.from_queryset(
        "mails-given-up",
        _("E-mails that were not accepted"),
        lost.select_related("user", "job"),
        lambda told: SeasonConcernLine(
            str(told.user), href, told.job.reason, told.created_at
        ),
        _("These people get messages on the site only; ask them for another address."),
    )


def _find_columns_without_value(season: Season) -> SeasonConcern:
    lines = []
    named = (
        (task, rules)
        for task in season.tasks.filter(is_reported_only=False)
        for rules in task.rules
    )
    for task, rules in named:
        if lacking := task.task_type.without_value(rules, task.options):
            words = ngettext(
                "Under %(rules)s %(metrics)s can have no value, since the task does not give the option "
                "%(options)s.",
                "Under %(rules)s %(metrics)s can have no value, since the task does not give the option "
                "%(options)s.",
                len(lacking),
            )
            facts = {"rules": rules, "metrics": count_with_noun(len(lacking), "metric")}
            words %= facts | {"options": join_names(sorted(set(lacking.values())))}
            lines.append(
                SeasonConcernLine(
                    str(task),
                    _build_season_page_address("organise-file", season),
                    words,
                )
            )
    advice = _("Give the option and rescore the runs, or leave the rules out.")
    return SeasonConcern.of(
        "columns-without-value", _("Metrics without a value"), lines, advice
    )


def _find_copied_runs_between_teams(season: Season) -> SeasonConcern:
    """Return runs of different teams with equal files or equal answers in the phases of
    a task.
    """
    runs = (
        _find_runs_of_season(season)
        .filter(is_alike=True)
        .exclude(status=RunStatus.CANCELLED)
    )
    others = runs.filter(
        sha256=OuterRef("sha256"), phase__task=OuterRef("phase__task")
    ).exclude(sha256="")
    same_bytes = runs.filter(Exists(others.exclude(team=OuterRef("team"))))
    scored = Evaluation.objects.filter(submission__in=runs.values("pk")).exclude(
        answers_digest=""
    )
    alike = scored.filter(
        **{name: OuterRef(name) for name in ("answers_digest", "gold", "rules")}
    )
    copied = scored.filter(Exists(alike.exclude(team=OuterRef("team"))))
    # Without the Python set of keys, both databases would evaluate subqueries twice.
    found = {
        *same_bytes.values_list("pk", flat=True),
        *copied.values_list("submission", flat=True),
    }
    return SeasonConcern.from_queryset(
        "same-files",
        _("The same file, or the same answers, from several teams"),
        runs.filter(pk__in=found).order_by("sha256", "submitted_at"),
        lambda run: _build_run_line(
            run, f"SHA-256 {run.sha256[:12]}.", run.submitted_at
        ),
        _(
            "A mistake, or somebody else's work; a run can be hidden or disqualified on its page."
        ),
    )


def _find_runs_resembling_probes(season: Season) -> SeasonConcern:
    found = Evaluation.objects.filter(phase__task__season=season).exclude(probe="")
    found = found.exclude(submission__status=RunStatus.CANCELLED)
    return SeasonConcern.from_queryset(
        "probes",
        _("Runs that look like probes"),
        found.select_related("submission__phase__task", "submission__team").order_by(
            "-submitted_at"
        ),
        lambda row: _build_run_line(
            row.submission, describe_probe_sign(row.probe), row.submitted_at
        ),
        _(
            "They may ask for the gold rather than be scored; ask their teams, or limit what scores tell."
        ),
    )


def _find_contested_results(season: Season) -> SeasonConcern:
    asking = find_phases_to_score(season).filter(
        confirms_results=True, confirmation_ended_at=None, closes__lte=now()
    )
    lines = []
    for phase in asking:
        for result in confirming.find_results_to_confirm(phase):
            run, said = result.run, result.said
            if said is not None and result.is_contested:
                name = _("%(system)s of %(team)s, %(task)s, %(phase)s")
                name %= {
                    "system": run.system,
                    "team": run.team,
                    "task": phase.task,
                    "phase": phase,
                }
                lines.append(
                    SeasonConcernLine(
                        name,
                        reverse("submission", args=[run.submission]),
                        said.message,
                        said.at,
                    )
                )
    advice = _(
        "Their teams consider them wrong. Correct the gold or rescore the runs, or end "
        "the confirmation with a reason."
    )
    return SeasonConcern.of("contested-results", _("Contested results"), lines, advice)


def _find_teams_awaiting_decision(season: Season) -> SeasonConcern:
    entries = (
        Registration.objects.filter(season=season).waiting().select_related("team")
    )
    href = _build_season_page_address("organise-teams", season)
    return SeasonConcern.from_queryset(
        "waiting-teams",
        _("Teams that wait for approval"),
        entries.order_by("registered_at"),
        lambda entry: SeasonConcernLine(
            entry.team.name, href, _("asks to take part"), entry.registered_at
        ),
        _("They cannot submit runs until you approve them."),
        href,
    )


def _find_open_questions(season: Season) -> SeasonConcern:
    return SeasonConcern.from_queryset(
        "open-questions",
        _("Questions without an answer"),
        Question.objects.filter(season=season).unanswered().order_by("asked_at"),
        lambda question: SeasonConcernLine(
            _("Question %(number)s") % {"number": question.pk},
            reverse("organise-answer", args=[season.slug, question.pk]),
            " ".join(question.text.split())[:200],
            question.asked_at,
        ),
        "",
        _build_season_page_address("organise-questions", season),
    )


def _find_long_waiting_runs(season: Season) -> SeasonConcern:
    # Very few runs of a season are not scored, so the query filters by status first.
    moving = _find_runs_of_season(season).filter(
        status__in=[RunStatus.WAITING, RunStatus.QUEUED, RunStatus.CHECKING]
    )
    queued = Job.objects.filter(submission=OuterRef("pk"), state=Job.State.QUEUED)
    unbegun = Q(status=RunStatus.QUEUED) | Q(Exists(queued))
    runs = moving.filter(
        Q(status=RunStatus.WAITING)
        | (unbegun & Q(status_since__lt=now() - MAX_RUN_WAITING_TIME))
    )
    # A run with scores under one rule set can wait for the model of another rule set.
    unsupplied = _find_runs_of_season(season).filter(
        make_admin_wait_filter(), status=RunStatus.SCORED
    )
    # A union uses an index for each part, but an OR condition would scan all runs.
    both = runs.order_by().values("pk").union(unsupplied.order_by().values("pk"))
    runs = _find_runs_of_season(season).filter(pk__in=both)
    unclear = _("Nobody has begun to score it; see whether a worker is running.")
    return SeasonConcern.from_queryset(
        "waiting-runs",
        _("Runs that wait"),
        runs.order_by("submitted_at"),
        lambda run: _build_run_line(
            run, describe_why_run_waits(run) or unclear, run.submitted_at
        ),
        _(
            "They go on by themselves when what they wait for is there; somebody has to supply a package or "
            "model that a reason names."
        ),
        f"{_build_season_page_address('organise-runs', season)}?status=waiting",
    )


def _find_unserved_queues(season: Season) -> SeasonConcern:
    queued = Job.objects.filter(
        state=Job.State.QUEUED, submission__phase__task__season=season
    ).order_by()
    rows = queued.values_list("queue").annotate(
        Count("submission", distinct=True), Min("created_at")
    )
    lines = [
        SeasonConcernLine(
            _("Queue %(queue)s") % {"queue": queue},
            f"{_build_season_page_address('organise-runs', season)}?status=queued",
            _("%(runs)s in it: %(why)s.")
            % {"runs": count_with_noun(runs, "run"), "why": why},
            oldest,
        )
        for queue, runs, oldest in sorted(rows)
        if (why := explain_unserved_queue(queue))
    ]
    advice = _(
        "A group of workers takes the queues that its setting CITEBOARD_QUEUES names, all without it."
    )
    return SeasonConcern.of(
        "unserved-queues", _("Queues that nothing is taken from"), lines, advice
    )


def _find_teams_without_score(season: Season) -> SeasonConcern:
    phases = find_phases_to_score(season)
    if not any(phase.opens <= now() for phase in phases):
        return SeasonConcern.of("teams-without-score", "", ())
    own = Tallied.objects.filter(
        what=tallies.RUN_COUNT_KIND,
        phase__in=phases.values("pk"),
        team=OuterRef("team"),
    )
    scored, moving, failed = (
        Coalesce(
            own.filter(state__in=states)
            .values("team")
            .annotate(n=Sum("number"))
            .values("n"),
            0,
        )
        for states in ([RunStatus.SCORED], Submission.MOVING, [RunStatus.FAILED])
    )
    entries = (
        Registration.objects.filter(season=season)
        .approved()
        .alias(scored=scored)
        .filter(scored=0)
    )
    lines = []
    rows = entries.order_by("team__name").values_list(
        "team__name", "team__slug", moving, failed
    )
    for name, slug, on_the_way, lost in rows[:MAX_CONCERN_LINES_SHOWN]:
        so_far = (
            [_("%(runs)s on the way") % {"runs": count_with_noun(on_the_way, "run")}]
            if on_the_way
            else []
        )
        so_far += (
            [_("%(runs)s failed") % {"runs": count_with_noun(lost, "run")}]
            if lost
            else []
        )
        words = ", ".join(so_far) or _("no run that could be scored")
        lines.append(
            SeasonConcernLine(
                name,
                f"{_build_season_page_address('organise-runs', season)}?team={slug}",
                words,
            )
        )
    title, href = (
        _("Teams without a scored run"),
        _build_season_page_address("organise-teams", season),
    )
    return SeasonConcern(
        "teams-without-score", title, lines, entries.count(), all_href=href
    )


def _find_runs_of_season(season: Season) -> QuerySet[Submission]:
    return Submission.objects.filter(phase__task__season=season).select_related(
        "phase__task", "team"
    )


def _build_run_line(
    run: Submission, words: str, since: dt.datetime | None = None
) -> SeasonConcernLine:
    display_name = run.team.name if run.team else run.get_kind_display()
    named = {"system": run.system, "number": run.number, "team": display_name}
    return SeasonConcernLine(
        _("%(system)s, run %(number)s of %(team)s") % named
        if run.team
        else f"{run.system}, {display_name}",
        reverse("submission", args=[run.pk]),
        f"{run.phase.task}, {run.phase}. {words}",
        since or run.status_since,
    )


def _build_phase_line(
    phase: Phase, page: str, words: str, since: dt.datetime | None = None
) -> SeasonConcernLine:
    return SeasonConcernLine(
        f"{phase.task}, {phase}",
        _build_season_page_address(page, phase.task.season),
        words,
        since,
    )


def _build_season_page_address(name: str, season: Season) -> str:
    return reverse(name, args=[season.slug])
