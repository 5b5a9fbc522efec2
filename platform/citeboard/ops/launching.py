"""The launch checklist of a season, with a trial run of all steps of a participant."""

import secrets
from dataclasses import dataclass
from smtplib import SMTPException

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.db import transaction
from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.core.refusals import ActionRefused
from citeboard.core.words import count_with_noun
from citeboard.teams.membership import found_team
from citeboard.teams.models import User
from scoring.models import Evaluation
from tasks.gold.early import find_embargo_clashes
from tasks.models import Gold, Phase, Season, Submission
from tasks.registration.entries import (
    accept_terms,
    approve_team_entry,
    get_newest_terms,
    register_team,
)
from tasks.submissions.submit import (
    require_accepted_terms,
    require_phase_accepts_run_of_team,
)

MAIL_TESTED_ACTION = "mail-tested"
MAIL_TIMEOUT_SECONDS = 10  # seconds
#: A step of the checklist names at most MAX_PHASES_LISTED incomplete phases.
MAX_PHASES_LISTED = 3


@dataclass(frozen=True)
class LaunchStep:
    """A step of a season's launch checklist.

    ``href`` is the URL of the page where organisers complete the step.
    """

    name: str
    title: str
    is_done: bool
    words: str
    href: str


def build_launch_checklist(season: Season) -> list[LaunchStep]:
    phases = list(find_phases_to_score(season))
    gold = {phase.pk: Gold.objects.current(phase) for phase in phases}
    scored = Submission.objects.filter(
        phase__in=phases, status=Submission.Status.SCORED
    )
    baselines = set(
        scored.filter(kind=Submission.Kind.BASELINE).values_list("phase", flat=True)
    )
    evaluated = Evaluation.objects.filter(gold__in=filter(None, gold.values()))
    tried = set(evaluated.values_list("gold", flat=True))
    has_gold = {pk for pk, known in gold.items() if known}
    has_run = {pk for pk, known in gold.items() if known and known.pk in tried}
    terms, stopped = get_newest_terms(season), find_participant_obstacles(season)
    version = (
        _("Version %(number)s") % {"number": terms.number} if terms else _("None yet.")
    )
    early = "; ".join(row.words for row in find_embargo_clashes(phases))
    is_mail_tested = (
        audit.find_history_of_place(season).filter(action=MAIL_TESTED_ACTION).exists()
    )

    def describe_phases_with_step_done(done: set[int]) -> tuple[bool, str]:
        lacking = [f"{phase.task}, {phase}" for phase in phases if phase.pk not in done]
        words = count_with_noun(len(phases), "phase")
        if not lacking:
            return bool(phases), words
        named = {
            "phases": words,
            "done": len(phases) - len(lacking),
            "lacking": "; ".join(lacking[:MAX_PHASES_LISTED]),
        }
        more = ", …" if len(lacking) > MAX_PHASES_LISTED else ""
        return False, _(
            "In %(done)s of %(phases)s; lacking in %(lacking)s"
        ) % named + more

    def build_page_url(page: str) -> str:
        return reverse(page, args=[season.slug])

    walks = _("A participant can enter, accept the terms and submit runs")
    return [
        LaunchStep(
            "gold",
            _("Gold is in"),
            *describe_phases_with_step_done(has_gold),
            build_page_url("organise-gold"),
        ),
        LaunchStep(
            "scored",
            _("A run has been scored"),
            *describe_phases_with_step_done(has_run),
            build_page_url("organise-baselines"),
        ),
        LaunchStep(
            "baselines",
            _("A baseline is on the board"),
            *describe_phases_with_step_done(baselines),
            build_page_url("organise-baselines"),
        ),
        LaunchStep(
            "terms",
            _("Terms"),
            terms is not None,
            version,
            build_page_url("organise-terms"),
        ),
        LaunchStep(
            "secrets",
            _("No phase shows what another withholds"),
            not early,
            early,
            build_page_url("organise-secrecy"),
        ),
        LaunchStep(
            "mail",
            _("The mail server has accepted an e-mail"),
            is_mail_tested,
            "",
            "#mail-test",
        ),
        LaunchStep(
            "walk", walks, not stopped, "; ".join(stopped), build_page_url("season")
        ),
    ]


def find_phases_to_score(season: Season) -> QuerySet[Phase]:
    phases = Phase.objects.filter(task__season=season, task__is_reported_only=False)
    return phases.select_related("task__season").order_by(
        "task__position", "position", "opens"
    )


def find_participant_obstacles(season: Season) -> list[str]:
    """Return the obstacles that a participant of the season would meet.

    The function creates a participant with a new account in a transaction, which is
    then rolled back.
    """
    stopped: list[str] = []
    with transaction.atomic():
        name = secrets.token_hex(8)
        person = User.objects.create(email=f"{name}@preview.invalid", name=name)
        team = found_team(name=name, founder=person)
        if season.registration == Season.EntryPolicy.LIST and season.entry_list:
            Season.objects.filter(pk=season.pk).update(entry_list=person.email)
        phases = list(find_phases_to_score(season))
        if any(Gold.objects.current(phase) is None for phase in phases):
            stopped.append(_("no run is accepted where there is no gold"))
        try:
            if terms := get_newest_terms(season):
                given = dict.fromkeys(season.asks, "-")
                accept_terms(season=season, number=terms.number, user=person, **given)
            approve_team_entry(
                registration=register_team(season=season, team=team, by=person),
                by=person,
            )
            require_accepted_terms(season, person)
            for phase in phases:
                require_phase_accepts_run_of_team(phase, team, phase.opens)
        except ActionRefused as refused:
            stopped.append(str(refused))
        transaction.set_rollback(True)
    return stopped


def send_test_mail(*, season: Season, by: User) -> Season:
    named = {"season": season}
    subject, text = (
        _("An e-mail of %(season)s"),
        _("E-mails of %(season)s arrive at this address."),
    )
    try:
        with get_connection(timeout=MAIL_TIMEOUT_SECONDS) as connection:
            mail = EmailMessage(
                subject % named, text % named, settings.DEFAULT_FROM_EMAIL, [by.email]
            )
            connection.send_messages([mail])
    except (OSError, SMTPException) as trouble:
        raise ActionRefused(
            _("the mail server does not accept it: %(why)s") % {"why": trouble}
        ) from trouble
    audit.record_action(
        MAIL_TESTED_ACTION, actor=by, subject=season, place=season, facts={}
    )
    return season
