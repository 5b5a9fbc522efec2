"""What is done in a season: entering it, deciding on teams, what is told, asked and answered, webhooks."""

from typing import Any

from django import forms
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from citeboard.core.query import whole_number
from citeboard.core.words import counted
from citeboard.teams.access import team_for_member
from citeboard.teams.models import Team, User
from scoring.acts.declared import Act, ActForm, by_helpers, by_organisers, by_readers
from scoring.ops.merging import MAX_REASON as MAX_MERGE_REASON
from scoring.ops.merging import merge_teams
from tasks.jobs import acknowledging
from tasks.models import Acknowledgement, Job, JoinRequest, Question, Registration, Season, Submission
from tasks.models.jobs import MAX_NOTE
from tasks.registration import entries
from tasks.seasons import announcements as news
from tasks.seasons.access import season_for, teams_to_ask
from tasks.seasons.presets import A_YEAR, MAX_DAYS, clone_season
from tasks.webhooks import services as webhooks

MAX_NUMBER = 2**63 - 1


class EnterForm(ActForm):
    """A team that would take part."""

    team = forms.CharField()
    message = forms.CharField(required=False, max_length=entries.MAX_MESSAGE)
    api = {"team": "The slug of a team of yours.", "message": "For the organisers who decide on the entry."}


def _enter(*, season: Season, team: str, message: str, by: User) -> Registration:
    entered = team_for_member(by, team)
    return entries.register_team(season=season, team=entered, by=by, message=message)


def _say_entered(entry: Registration, _filled: object) -> str:
    words = (
        gettext("%(team)s takes part in %(season)s.")
        if entry.is_approved
        else gettext("%(team)s takes part in %(season)s; an organiser has yet to approve it.")
    )
    return words % {"team": entry.team, "season": entry.season}


def entry_of_own(user: object, season: str, team: str) -> Registration:
    entries_of_season = Registration.objects.filter(season=season_for(user, season))
    return get_object_or_404(entries_of_season, team=team_for_member(user, team))


class DecisionForm(ActForm):
    """What organisers decide on a team."""

    decision = forms.ChoiceField(choices=[("approve", "approve"), ("refuse", "refuse")])
    reason = forms.CharField(required=False, max_length=500)
    api = {"reason": "Its team reads it."}


def _decide(*, registration: Registration, decision: str, reason: str, by: User) -> Registration:
    if decision == "approve":
        entries.approve_team(registration=registration, by=by)
    else:
        entries.refuse_team(registration=registration, by=by, reason=reason.strip())
    registration.refresh_from_db()
    return registration


class AskToJoinForm(ActForm):
    """Which team to ask."""

    team = forms.CharField()
    message = forms.CharField(required=False, max_length=entries.MAX_REQUEST)
    api = {"team": "The slug of a team of the season."}


def _ask_to_join(*, season: Season, team: str, message: str, by: User) -> JoinRequest:
    asked = get_object_or_404(teams_to_ask(by, season), slug=team)
    return entries.ask_to_join(season=season, team=asked, user=by, message=message[: entries.MAX_REQUEST])


class MergeTeamsForm(ActForm):
    """Which team goes into which."""

    team = forms.ModelChoiceField(label=_("Team"), queryset=Team.objects.none(), to_field_name="slug")
    into = forms.ModelChoiceField(
        label=_("Goes into"),
        queryset=Team.objects.none(),
        to_field_name="slug",
        help_text=_("This team stays."),
    )
    reason = forms.CharField(label=_("Reason, which both teams read"), max_length=MAX_MERGE_REASON)
    api = {"team": "A slug.", "into": "The slug of the team that stays.", "reason": "Both teams read it."}

    def __init__(self, data: Any = None, *, of: Season) -> None:
        super().__init__(data, prefix="merge")
        entered = Team.objects.filter(registrations__in=of.registrations.approved()).order_by("name")
        for name in ("team", "into"):
            self.fields[name].queryset = entered  # type: ignore[attr-defined]


class AcceptForm(ActForm):
    """The version that was read."""

    version = forms.IntegerField(min_value=1, max_value=2**31 - 1)


class QuestionForm(ActForm):
    """What you want to know."""

    text = forms.CharField(
        label=_("Your question"),
        max_length=news.MAX_TEXT,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=_(
            "Organisers read it, with your name. If they answer in public, everybody reads question "
            "and answer, without your name."
        ),
    )


PUBLIC, PRIVATE = "public", "private"


class AnswerForm(ActForm):
    """The answer, and whether everybody reads it with the question."""

    answer = forms.CharField(
        label=_("Answer"), max_length=news.MAX_TEXT, widget=forms.Textarea(attrs={"rows": 8})
    )
    how = forms.ChoiceField(
        label=_("Who reads it"),
        choices=[
            (PUBLIC, _("everybody, with the question and without the name of who asked")),
            (PRIVATE, _("who asked, alone")),
        ],
    )
    api = {"answer": "Markdown."}
    begins_with = {"answer": "answer"}
    only_on_pages = ("how",)
    only_in_api = {"is_public": forms.BooleanField()}

    def __init__(self, data: Any = None, *, of: Question) -> None:
        super().__init__(data, of=of)
        self.initial["how"] = PRIVATE if of.answered_at and not of.is_public else PUBLIC

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        cleaned["is_public"] = cleaned.pop("how", PUBLIC) == PUBLIC
        return cleaned


def _announcement_text(*, required: bool) -> forms.CharField:
    return forms.CharField(
        label=_("Announcement"),
        required=required,
        max_length=news.MAX_TEXT,
        widget=forms.Textarea(attrs={"rows": 8}),
        help_text=_("Markdown. Leave it empty to take the announcement away."),
    )


class AnnouncementForm(ActForm):
    """What stands at the top of a season's page."""

    text = _announcement_text(required=False)
    api = {"text": {"help_text": "Markdown; empty to take it away.", "required": True}}
    begins_with = {"text": "announcement"}


class EditForm(ActForm):
    """What it shall say."""

    text = _announcement_text(required=True)
    api = {"text": "Markdown."}
    begins_with = {"text": "text"}


class ReportForm(ActForm):
    """What is wrong, and where."""

    address = forms.CharField(
        label=_("Page that it is about"),
        required=False,
        max_length=news.MAX_ADDRESS,
        help_text=_("Its address."),
    )
    text = forms.CharField(
        label=_("What is wrong"),
        max_length=news.MAX_TEXT,
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text=_("Those who run the site read it, with your name and address."),
    )
    api = {"address": "The page."}


class AcknowledgeForm(ActForm):
    """Which failure, and what there is to say of it."""

    submission = forms.IntegerField(min_value=1, max_value=MAX_NUMBER)
    job = forms.IntegerField(required=False, min_value=1, max_value=MAX_NUMBER)
    note = forms.CharField(required=False, max_length=MAX_NOTE)


def _acknowledge(
    *, season: Season, submission: int, note: str, by: User, job: object = None
) -> Acknowledgement:
    run = get_object_or_404(Submission, pk=submission, phase__task__season=season)
    scoring = get_object_or_404(Job, pk=whole_number(str(job)), submission=run) if job is not None else None
    return acknowledging.acknowledge(run=run, job=scoring, note=note, by=by)


class WebhookForm(ActForm):
    """Where to post."""

    url = forms.CharField(
        label=_("Address"),
        max_length=400,
        help_text=_("It begins with https:// and is posted to at each event."),
    )
    api = {"url": "It begins with https://."}


class CloneForm(ActForm):
    """What next year's season is called."""

    title = forms.CharField(label=_("Title"), max_length=120)
    slug = forms.CharField(
        label=_("Name in addresses"), max_length=60, help_text=_("Small letters, digits and single hyphens.")
    )
    days = forms.IntegerField(
        label=_("Days later"),
        min_value=0,
        max_value=MAX_DAYS,
        initial=A_YEAR,
        help_text=_("By how many phases move."),
    )
    api = {
        "slug": "Small letters, digits and single hyphens.",
        "days": {"required": False, "default": A_YEAR, "help_text": "By how many phases are later."},
    }


ENTER = by_readers(
    _enter, "Take part in a season with a team; once more changes nothing.", _say_entered, form=EnterForm
)
TAKE_BACK_ENTRY = Act(
    entries.take_back_entry,
    "Leave a season in which the team has sent no run.",
    _("%(team)s does not take part in %(season)s any more."),
    of=entry_of_own,
)
DECIDE = by_helpers(
    _decide,
    "Let a team take part, or not; for organisers.",
    lambda entry, _filled: (
        (gettext("%(team)s takes part.") if entry.is_approved else gettext("%(team)s does not take part."))
        % {"team": entry.team}
    ),
    form=DecisionForm,
    refused=_("Approve or refuse, with a reason of at most 500 characters."),
)
ASK_TO_JOIN = by_readers(
    _ask_to_join,
    "Ask a team of the season to be taken in.",
    _("You have asked to join %(team)s; its members are told."),
    form=AskToJoinForm,
)
MERGE_TEAMS = by_organisers(
    merge_teams,
    "Merge a team into another with a reason; for organisers.",
    lambda moved, teams: (
        gettext("%(team)s is part of %(into)s now, with %(runs)s.")
        % {"team": teams["team"], "into": teams["into"], "runs": counted(moved, "run")}
    ),
    form=MergeTeamsForm,
    refused=_("The teams were not merged: %(faults)s"),
)
ACCEPT_TERMS = by_readers(
    lambda season, version, by: entries.accept_terms(season=season, number=version, user=by),
    "Accept the terms of a season.",
    _("You have accepted the terms of %(season)s."),
    form=AcceptForm,
)
ASK = by_readers(
    news.ask,
    "Ask the organisers of a season.",
    _("The organisers have your question. You are told when they answer."),
    form=QuestionForm,
)
ANSWER = by_helpers(
    lambda question, answer, is_public, by: news.answer(
        question=question, text=answer, is_public=is_public, by=by
    ),
    "Answer a question; for organisers.",
    _("The question is answered."),
    form=AnswerForm,
)
ANNOUNCE = by_helpers(
    news.announce,
    "Announce something on a season's page; for organisers.",
    lambda season, _filled: (
        gettext("The announcement stands on the season's page now.")
        if season.announcement
        else gettext("The announcement is taken away.")
    ),
    form=AnnouncementForm,
)
EDIT_ANNOUNCEMENT = by_helpers(
    news.edit_announcement,
    "Change what an announcement says; for organisers.",
    _("The announcement is edited; what it said before can be read too."),
    form=EditForm,
)
TAKE_BACK_ANNOUNCEMENT = by_helpers(
    news.take_back_announcement,
    "Take an announcement back; for organisers.",
    _("The announcement is taken back."),
)
ACKNOWLEDGE = by_helpers(
    _acknowledge,
    "Acknowledge a failure; it comes back if it fails again.",
    _("Acknowledged. It comes back if it fails again."),
    form=AcknowledgeForm,
)
TAKE_ACKNOWLEDGEMENT_BACK = by_helpers(
    acknowledging.take_acknowledgement_back,
    "Let a failure need attention again.",
    _("The failure needs attention again."),
)
MAKE_WEBHOOK = by_organisers(
    webhooks.make_webhook,
    "Have a program posted to at each event of a season; for organisers.",
    form=WebhookForm,
)
RENEW_SECRET = by_organisers(webhooks.renew_secret, "Give a webhook another secret; for organisers.")
REMOVE_WEBHOOK = by_organisers(
    webhooks.remove_webhook,
    "Remove a webhook with its deliveries; for organisers.",
    _("The webhook is removed, and its deliveries with it."),
)
REPEAT_DELIVERY = by_organisers(
    webhooks.repeat_delivery,
    "Post an event once more; for organisers.",
    _("It is posted again within seconds."),
)
CLONE = by_organisers(
    clone_season,
    "Make next year's season: its tasks and phases, later, without people, gold and runs.",
    _("%(season)s is a draft; its phases and its gold are yours to look through."),
    form=CloneForm,
)
