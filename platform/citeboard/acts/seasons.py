"""What is done in a season: entering it, deciding on teams, what is told, asked and answered, webhooks."""

from operator import attrgetter
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import transaction
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _

from citeboard.acts import declared
from citeboard.acts.declared import (
    Act,
    ActForm,
    LinesField,
    MomentField,
    by_helpers,
    by_organisers,
    by_readers,
    with_rehearsal,
)
from citeboard.background.kinds import ask_for_archive
from citeboard.core.models import AuditEntry
from citeboard.core.query import whole_number
from citeboard.core.words import counted, sentence
from citeboard.ops import group_mails
from citeboard.ops.merging import MAX_REASON as MAX_MERGE_REASON, merge_teams
from citeboard.ops.undoing import take_back, to_take_back
from citeboard.teams.access import team_for_member
from citeboard.teams.accounts import ProfileForm
from citeboard.teams.models import ASKED_BY_TERMS, Team, User
from tasks import models
from tasks.delivery.webhooks import services as webhooks
from tasks.jobs.mails import try_again
from tasks.models.jobs import MAX_NOTE
from tasks.models.seasons import SEASON_DATES
from tasks.registration import entries
from tasks.seasons import announcements as news
from tasks.seasons.access import season_for, staff, teams_to_ask
from tasks.seasons.file.load import change_settings
from tasks.seasons.history import delete_phase, delete_task, may_undo, undo
from tasks.seasons.organisers import add_organiser, hand_season_over, remove_organiser
from tasks.seasons.own_measures import decide_measures, measures_of_site
from tasks.seasons.presets import (
    A_YEAR,
    MAX_DAYS,
    Preset,
    clone_season,
    preset_for,
    season_from,
)
from tasks.submissions import run_acts
from tasks.types import task_types

MAX_NUMBER = 2**63 - 1


class EnterForm(ActForm):
    """A team that would take part."""

    team = forms.CharField()
    message = forms.CharField(required=False, max_length=entries.MAX_MESSAGE)
    api = {
        "team": "The slug of a team of yours.",
        "message": "For the organisers who decide on the entry.",
    }


def entry_of_own(user: object, season: str, team: str) -> models.Registration:
    entries_of_season = models.Registration.objects.filter(
        season=season_for(user, season)
    )
    return get_object_or_404(entries_of_season, team=team_for_member(user, team))


class DecisionForm(ActForm):
    """What organisers decide on a team."""

    decision = forms.ChoiceField(choices=[("approve", "approve"), ("refuse", "refuse")])
    reason = forms.CharField(required=False, max_length=500)
    api = {"reason": "Its team reads it."}


def _decide(
    *, registration: models.Registration, decision: str, reason: str, by: User
) -> models.Registration:
    # A rehearsal before has left it as decided.
    registration.refresh_from_db()
    if decision == "approve":
        entries.approve_team(registration=registration, by=by)
    else:
        entries.refuse_team(registration=registration, by=by, reason=reason.strip())
    registration.refresh_from_db()
    return registration


class MeasuresForm(ActForm):
    """What staff decide on measures of a task's own."""

    decision = forms.ChoiceField(
        choices=[("approve", "approve"), ("withdraw", "withdraw")]
    )


class AskToJoinForm(ActForm):
    """Which team to ask."""

    team = forms.CharField()
    message = forms.CharField(required=False, max_length=entries.MAX_REQUEST)
    api = {"team": "The slug of a team of the season."}


def _ask_to_join(
    *, season: models.Season, team: str, message: str, by: User
) -> models.JoinRequest:
    asked = get_object_or_404(teams_to_ask(by, season), slug=team)
    return entries.ask_to_join(
        season=season, team=asked, user=by, message=message[: entries.MAX_REQUEST]
    )


class MergeTeamsForm(ActForm):
    """Which team goes into which."""

    team = forms.ModelChoiceField(
        label=_("Team"), queryset=Team.objects.none(), to_field_name="slug"
    )
    into = forms.ModelChoiceField(
        label=_("Goes into"),
        queryset=Team.objects.none(),
        to_field_name="slug",
        help_text=_("This team stays."),
    )
    reason = forms.CharField(
        label=_("Reason, which both teams read"), max_length=MAX_MERGE_REASON
    )
    api = {
        "team": "A slug.",
        "into": "The slug of the team that stays.",
        "reason": "Both teams read it.",
    }

    def __init__(
        self, data: Any = None, files: Any = None, *, of: models.Season
    ) -> None:
        super().__init__(data, prefix="merge")
        entered = Team.objects.filter(
            registrations__in=of.registrations.approved()
        ).order_by("name")
        for name in ("team", "into"):
            self.fields[name].queryset = entered  # type: ignore[attr-defined]


class TermsForm(ActForm):
    """Terms; another text than the last is a new version."""

    text = forms.CharField(
        label=_("Terms"),
        max_length=entries.MAX_LENGTH,
        widget=forms.Textarea(attrs={"rows": 16}),
        help_text=_(
            "Markdown. Another text is a new version, to be accepted before data are given out again."
        ),
        error_messages={"required": _("Write the terms.")},
    )
    counts_from = MomentField(
        label=_("Counts from"),
        required=False,
        help_text=_(
            "Until then the version before holds for who has accepted that. Empty: at once, for everybody."
        ),
    )
    api = {"text": "Markdown."}

    def __init__(
        self, data: Any = None, files: Any = None, *, of: models.Season
    ) -> None:
        current = entries.current_terms(of)
        super().__init__(data, of=of, initial={"text": current.text if current else ""})


class AcceptForm(ActForm):
    """The version that was read, and what the season asks with it."""

    version = forms.IntegerField(
        min_value=1, max_value=2**31 - 1, widget=forms.HiddenInput
    )
    affiliation, country, legal_name = (
        ProfileForm.base_fields[name] for name in ASKED_BY_TERMS
    )
    api = dict.fromkeys(
        ASKED_BY_TERMS, "Where the season asks for it; empty: as your account has it."
    )

    def __init__(
        self, data: Any = None, files: Any = None, *, of: models.Season, **options: Any
    ) -> None:
        super().__init__(data, of=of, **options)
        for name in ASKED_BY_TERMS:
            self.fields[name].required = True
            if name not in of.asks:
                del self.fields[name]


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

    answer = declared.long_text(_("Answer"), news.MAX_TEXT, 8)
    how = forms.ChoiceField(
        label=_("Who reads it"),
        choices=[
            (
                PUBLIC,
                _("everybody, with the question and without the name of who asked"),
            ),
            (PRIVATE, _("who asked, alone")),
        ],
    )
    api = {"answer": "Markdown."}
    begins_with = {"answer": "answer"}
    only_on_pages = ("how",)
    only_in_api = {"is_public": forms.BooleanField()}

    def __init__(
        self, data: Any = None, files: Any = None, *, of: models.Question
    ) -> None:
        super().__init__(data, of=of)
        self.initial["how"] = PRIVATE if of.answered_at and not of.is_public else PUBLIC

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        cleaned["is_public"] = cleaned.pop("how", PUBLIC) == PUBLIC
        return cleaned


def _announcement_text(*, required: bool) -> forms.CharField:
    help_text = _("Markdown. Leave it empty to take the announcement away.")
    return declared.long_text(
        _("Announcement"), news.MAX_TEXT, 8, required=required, help_text=help_text
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


class MailForm(ActForm):
    """Which teams, and what their members are told."""

    group = forms.ChoiceField(label=_("To"), choices=group_mails.Group.choices)
    phase = forms.IntegerField(
        label=_("By runs and results of"),
        required=False,
        min_value=1,
        max_value=MAX_NUMBER,
    )
    subject = forms.CharField(label=_("Subject"), max_length=group_mails.MAX_SUBJECT)
    text = declared.long_text(_("Text, without markup"), group_mails.MAX_TEXT, 8)
    api = {
        "phase": "The number of a phase, whose runs and results decide; all, where it is left out."
    }

    def __init__(
        self, data: Any = None, files: Any = None, *, of: models.Season
    ) -> None:
        super().__init__(data, of=of)
        phases = models.Phase.objects.filter(task__season=of).order_by(
            "task__position", "position"
        )
        named = [
            (phase.pk, f"{phase.task}, {phase}")
            for phase in phases.select_related("task")
        ]
        self.fields["phase"].widget = forms.Select(
            choices=[("", _("all phases")), *named]
        )


class ArchiveForm(ActForm):
    """What stands in the archive."""

    version = forms.CharField(
        label=_("Version, of a deposit"), max_length=40, initial="1"
    )
    with_gold = forms.BooleanField(
        label=_("With all gold that no phase keeps secret"), required=False
    )
    api = {
        "version": {"required": False, "default": "1", "help_text": "Of a deposit."},
        "with_gold": {
            "default": False,
            "help_text": "With all gold that no phase keeps secret.",
        },
    }


class ReportForm(ActForm):
    """What is wrong, and where."""

    address = forms.CharField(
        label=_("Page that it is about"),
        required=False,
        max_length=news.MAX_ADDRESS,
        help_text=_("Its address."),
    )
    text = declared.long_text(
        _("What is wrong"),
        news.MAX_TEXT,
        6,
        help_text=_("Those who run the site read it, with your name and address."),
    )
    api = {"address": "The page."}


class AcknowledgeForm(ActForm):
    """Which failure, and what there is to say of it."""

    submission = forms.IntegerField(min_value=1, max_value=MAX_NUMBER)
    job = forms.IntegerField(required=False, min_value=1, max_value=MAX_NUMBER)
    note = forms.CharField(required=False, max_length=MAX_NOTE)


def _acknowledge(
    *, season: models.Season, submission: int, note: str, by: User, job: object = None
) -> models.Acknowledgement:
    run = get_object_or_404(
        models.Submission, pk=submission, phase__task__season=season
    )
    scoring = (
        get_object_or_404(models.Job, pk=whole_number(str(job)), submission=run)
        if job is not None
        else None
    )
    return run_acts.acknowledge(run=run, job=scoring, note=note, by=by)


class WebhookForm(ActForm):
    """Where to post."""

    url = forms.CharField(
        label=_("Address"),
        max_length=400,
        help_text=_("It begins with https:// and is posted to at each event."),
    )
    api = {"url": "It begins with https://."}


class EntryForm(ActForm):
    """How teams enter."""

    begins_with = {"registration": "registration"}
    registration = forms.ChoiceField(
        label=_("How teams enter"), choices=models.Season.Entry.choices
    )

    def clean(self) -> dict[str, Any]:
        return {"entry": super().clean().get("registration", "")}


class TeamRulesForm(ActForm):
    """Rules that teams keep to."""

    mirrors = True
    entry_list = forms.CharField(
        label=_("Addresses that may enter"),
        required=False,
        max_length=50_000,
        widget=forms.Textarea(attrs={"rows": 5}),
        help_text=_(
            "For entering by list: an address, or @ and a domain, a line. Every member needs one."
        ),
    )
    max_team_size = forms.IntegerField(
        label=_("Members of a team at most"),
        required=False,
        min_value=1,
        max_value=10_000,
    )
    members_until = MomentField(
        label=_("Members may change until"),
        required=False,
        help_text=_(
            "From then on nobody joins a team or is removed from one. Everybody may still leave."
        ),
    )


def _limit_teams(
    *, season: models.Season, entry_list: str, by: User, **limits: Any
) -> models.Season:
    with transaction.atomic():
        entries.change_entry_list(season=season, addresses=entry_list, by=by)
        return entries.limit_teams(season=season, by=by, **limits)


class NewSeasonForm(ActForm):
    """What a season is called."""

    title = forms.CharField(label=_("Title"), max_length=120)
    slug = forms.CharField(
        label=_("Name in addresses"),
        max_length=60,
        help_text=_("Small letters, digits and single hyphens."),
    )


class CloneForm(NewSeasonForm):
    """What next year's season is called."""

    days = forms.IntegerField(
        label=_("Days later"),
        min_value=0,
        max_value=MAX_DAYS,
        initial=A_YEAR,
        help_text=_("By how many phases move."),
    )
    api = {
        "slug": "Small letters, digits and single hyphens.",
        "days": {
            "required": False,
            "default": A_YEAR,
            "help_text": "By how many phases are later.",
        },
    }


class PresetForm(NewSeasonForm):
    """A season that is made from a preset."""

    task_type = forms.MultipleChoiceField(
        label=_("Tasks"),
        widget=forms.CheckboxSelectMultiple,
        help_text=_(
            "Each gets the phases of the preset. Tasks of one's own can be added from their gold."
        ),
    )
    organisers = LinesField(
        label=_("Who organises it with you"),
        required=False,
        help_text=_("E-mail addresses of their accounts, one a line."),
    )
    time_zone = forms.CharField(
        label=_("Time zone"),
        max_length=60,
        initial="AoE",
        help_text=_("Such as Europe/Rome, UTC or AoE."),
    )
    only_on_pages = ("task_type", "time_zone")
    only_in_api = {
        "task_type": forms.CharField(),
        "time_zone": forms.CharField(),
        "dates": forms.JSONField(),
    }
    api = {
        "slug": "Small letters, digits and single hyphens.",
        "task_type": "A task type, such as clsumm-1a, or a task of yours, as SEASON/TASK; several with "
        "commas between.",
        "time_zone": {
            "required": False,
            "default": "UTC",
            "help_text": "Such as Europe/Rome or AoE.",
        },
        "organisers": "E-mail addresses of the accounts of those who organise it with you.",
        "dates": "When it begins and ends, such as {“opens”: “2026-05-01 00:00”}; each preset says which. "
        "Also results_at, papers_until, camera_ready_until and workshop_at.",
    }

    def __init__(self, data: Any = None, files: Any = None, *, of: Preset) -> None:
        super().__init__(data, of=of)
        kinds = [
            (slug, f"{kind.title} ({slug})") for slug, kind in task_types().items()
        ]
        self.fields["task_type"].choices = [*kinds, *of.earlier]  # type: ignore[attr-defined]
        self.dates = {
            **of.dates,
            **{name: models.Season.date_label(name) for name in SEASON_DATES},
        }
        for name, label in self.dates.items():
            help_text = gettext(
                "In that zone, such as 2026-05-01 23:59; write AoE or UTC behind it for those."
            )
            self.fields[name] = forms.CharField(
                label=label
                if name in of.dates
                else gettext("%(date)s (may be left out)") % {"date": label},
                max_length=80,
                required=name in of.dates,
                help_text=help_text,
            )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        cleaned["dates"] = {name: cleaned.pop(name, "") for name in self.dates}
        cleaned["task_type"] = ",".join(cleaned.get("task_type", ()))
        return cleaned


def _from_preset(
    *,
    preset: Preset,
    dates: dict[str, Any],
    organisers: list[str] | None,
    by: User,
    **named: Any,
) -> models.Season:
    if not all(isinstance(text, str) for text in dates.values()):
        raise ValidationError(
            {"dates": "Give an object with a date and time for each name."}
        )
    people = {address: _with_address(address) for address in organisers or ()}
    if unknown := [address for address, person in people.items() if person is None]:
        words = gettext(
            "Nobody has an account with the address %(address)s; they can sign up first."
        )
        raise ValidationError(
            {"organisers": [words % {"address": address} for address in unknown]}
        )
    known = [person for person in people.values() if person]
    return season_from(preset=preset, dates=dates, organisers=known, by=by, **named)


NOBODY, HAND_OVER = "nobody", "hand-over"


class RoleForm(ActForm):
    """Somebody with an account, and what they become."""

    email = forms.EmailField(label=_("E-mail address of their account"))
    role = forms.ChoiceField(
        label=_("They become"),
        choices=[
            *models.Organiser.Role.choices,
            (HAND_OVER, _("organiser in my place")),
        ],
        help_text=_(
            "A helper sees runs and scores, decides on teams and announces; no gold, no settings."
        ),
    )
    only_on_pages = ("email",)
    only_in_api = {"address": forms.EmailField()}
    api = {
        "address": {"max_length": None},
        "role": {"choices": [*models.Organiser.Role.values, NOBODY]},
    }

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"]
        if _with_address(email) is None:
            raise ValidationError(
                gettext(
                    "Nobody has an account with this address; they can sign up first."
                )
            )
        return email


def _undo(*, change: AuditEntry, by: User) -> str:
    season = models.Season.objects.get(pk=change.place_id)
    if change not in to_take_back(season) and may_undo(change):
        undo(season=season, entry=change, by=by)
        return gettext("%(subject)s: as before.") % {"subject": change.subject}
    stays = take_back(season=season, entry=change, by=by)
    return f"{gettext('Taken back: %(what)s.') % {'what': change.words.rstrip('.')}} {stays}".strip()


def _with_address(address: str) -> User | None:
    return User.objects.filter(email__iexact=address.strip(), is_active=True).first()


def _give_role(
    *, season: models.Season, role: str, by: User, email: str = "", address: str = ""
) -> tuple[models.Season, User]:
    user = _with_address(email or address)
    if user is None:
        raise ValidationError({"address": "Nobody has an account with this address."})
    if role == HAND_OVER:
        hand_season_over(season=season, to=user, by=by)
    elif role != NOBODY:
        add_organiser(season=season, user=user, role=role, by=by)
    elif organiser := models.Organiser.objects.filter(season=season, user=user).first():
        remove_organiser(organiser=organiser, by=by)
    return season, user


ENTER = by_readers(
    lambda season, team, message, by: entries.register_team(
        season=season, team=team_for_member(by, team), by=by, message=message
    ),
    "Take part in a season with a team; once more changes nothing.",
    lambda entry, _filled: (
        _("%(team)s takes part in %(season)s.")
        if entry.is_approved
        else _("%(team)s takes part in %(season)s; an organiser has yet to approve it.")
    ),
    form=EnterForm,
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
        _("%(team)s takes part.")
        if entry.is_approved
        else _("%(team)s does not take part.")
    ),
    form=DecisionForm,
    refused=_("Approve or refuse, with a reason of at most 500 characters."),
    is_rehearsed=True,
    unasked=attrgetter("is_waiting"),
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
    _("%(team)s is part of %(into)s now, with %(runs)s."),
    form=MergeTeamsForm,
    refused=_("The teams were not merged: %(faults)s"),
)
PUBLISH_TERMS = with_rehearsal(
    entries.publish_terms,
    "Publish the terms of a season, which whoever takes part accepts; for organisers.",
    lambda terms, _filled: (
        _("Version %(number)s of the terms is published.")
        if terms.counts_from and terms.counts_from > timezone.now()
        else _("Version %(number)s of the terms holds now.")
    ),
    form=TermsForm,
)
ACCEPT_TERMS = by_readers(
    lambda season, version, by, **given: entries.accept_terms(
        season=season, number=version, user=by, **given
    ),
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
MAKE_ARCHIVE = by_organisers(
    ask_for_archive,
    "Make the archive of what is public of a season; for organisers.",
    form=ArchiveForm,
)
MAIL_TEAMS = with_rehearsal(
    group_mails.mail_teams,
    "Send a mail to the members of teams that a query finds; for organisers.",
    _("The mail goes out after ten minutes; until then it can be taken back."),
    form=MailForm,
)
ACKNOWLEDGE = by_helpers(
    _acknowledge,
    "Acknowledge a failure; it comes back if it fails again.",
    _("Acknowledged. It comes back if it fails again."),
    form=AcknowledgeForm,
)
TAKE_ACKNOWLEDGEMENT_BACK = by_helpers(
    run_acts.take_acknowledgement_back,
    "Let a failure need attention again.",
    _("The failure needs attention again."),
)
MAKE_WEBHOOK = by_organisers(
    webhooks.make_webhook,
    "Have a program posted to at each event of a season; for organisers.",
    form=WebhookForm,
)
RENEW_SECRET = by_organisers(
    webhooks.renew_secret, "Give a webhook another secret; for organisers."
)
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
CHANGE_SETTINGS = with_rehearsal(
    change_settings, "Change settings, or add a task or a phase; for organisers."
)
CHANGE_ENTRY = with_rehearsal(
    entries.change_entry,
    "Say how teams enter; for organisers.",
    lambda season, _filled: (
        _("Entering %(season)s is %(entry)s now."),
        {"entry": season.get_registration_display()},
    ),
    form=EntryForm,
    refused=_("There is no such way of entering a season."),
)
LIMIT_TEAMS = with_rehearsal(
    _limit_teams,
    "Say who may enter by list, how large teams are and until when members change; for organisers.",
    _("The rules for teams are saved."),
    form=TeamRulesForm,
)
DELETE_TASK = with_rehearsal(
    delete_task,
    "Delete a task without runs and gold; for organisers.",
    _("%(task)s is deleted. The history can bring it back."),
)
DELETE_PHASE = with_rehearsal(
    delete_phase,
    "Delete a phase without runs; for organisers.",
    _("%(phase)s is deleted. The history can bring it back."),
)
CLONE = with_rehearsal(
    clone_season,
    "Make next year's season: its tasks and phases, later, without people, gold and runs.",
    _("%(season)s is a draft; its phases and its gold are yours to look through."),
    form=CloneForm,
    makes_season=True,
)
FROM_PRESET = Act(
    _from_preset,
    "Create a season from a preset: semeval, trec or open; for staff.",
    lambda season, _filled: (
        _("%(season)s is a draft. Bring its gold next, and look through its settings."),
        {"season": season},
    ),
    of=preset_for,
    form=PresetForm,
    is_rehearsed=True,
    makes_season=True,
)
GIVE_ROLE = by_organisers(
    _give_role,
    "Make somebody an organiser or a helper, or neither; for organisers.",
    lambda made, _filled: (_("%(name)s is what you chose now."), {"name": made[1]}),
    form=RoleForm,
)
UNDO = by_organisers(
    _undo,
    "Take back a deletion, that a team was kept out, or what was done within the last minutes.",
    lambda said, _filled: ("%(said)s", {"said": said}),
)
SEND_MAILS_AGAIN = Act(
    try_again,
    "Try e-mails again that could not be sent; for staff.",
    lambda mails, _filled: sentence(
        gettext("%(mails)s will be tried again") % {"mails": counted(mails, "e-mail")}
    ),
    of=staff,
)
REMOVE_ORGANISER = by_organisers(
    remove_organiser,
    "Let somebody run the season no more; for organisers.",
    _("%(person)s does not run the season any more."),
)
DECIDE_MEASURES = Act(
    decide_measures,
    "Approve measures of a task's own, or withdraw the approval; runs of its tasks then wait. For staff.",
    lambda row, _filled: (
        _("%(file)s is approved.")
        if row.approved_at
        else _("%(file)s is not run any more."),
        {"file": row},
    ),
    of=measures_of_site,
    form=MeasuresForm,
)
