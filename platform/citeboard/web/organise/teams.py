"""Organisers' pages on teams, people, terms, questions, announcements and webhooks."""

from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.db.models import Count, F, Max, OuterRef, Prefetch, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache

from citeboard.acts import phases
from citeboard.acts.announcements import (
    EDIT_ANNOUNCEMENT,
    PUBLISH_ANNOUNCEMENT,
    WITHDRAW_ANNOUNCEMENT,
)
from citeboard.acts.mails import SEND_MAIL_TO_TEAMS
from citeboard.acts.merging import MERGE_TEAMS, MergeTeamsForm
from citeboard.acts.organisers import ASSIGN_SEASON_ROLE, REMOVE_ORGANISER
from citeboard.acts.questions import ANSWER_QUESTION
from citeboard.acts.registration import (
    CHANGE_REGISTRATION_SETTING,
    CHANGE_TEAM_LIMITS,
    DECIDE_ON_REGISTRATION,
    EntryForm,
    TeamRulesForm,
)
from citeboard.acts.rehearsal import perform_confirmed_action
from citeboard.acts.terms import PUBLISH_TERMS
from citeboard.acts.webhooks import (
    CREATE_WEBHOOK,
    REMOVE_WEBHOOK,
    RENEW_WEBHOOK_SECRET,
    REPEAT_WEBHOOK_DELIVERY,
    WebhookForm,
)
from citeboard.core.plain_text import format_spreadsheet_cell
from citeboard.ops.group_mails import find_sent_mails
from citeboard.teams.access import order_memberships_by_role_and_time
from citeboard.teams.models import FIELDS_ASKED_BY_TERMS
from citeboard.web import pages
from scoring.results.board.exports import format_as_csv
from tasks import models
from tasks.delivery.webhooks.services import derive_webhook_secret
from tasks.models.registrations import RegistrationQuerySet
from tasks.registration.entries import list_terms_acceptances
from tasks.seasons.access import can_organise_season, get_helped_season_or_404


@pages.helper_pages.page("organise/teams.html", "teams")
def show_season_teams(request: HttpRequest, season: models.Season) -> pages.ViewResult:
    return _build_teams_context(season)


def _build_teams_context(
    season: models.Season, rules: TeamRulesForm | None = None
) -> dict[str, Any]:
    sent = models.Submission.objects.filter(
        phase__task__season=season, team=OuterRef("team")
    )
    runs = sent.order_by().values("team")
    entries = models.Registration.objects.filter(season=season).select_related(
        "team", "decided_by"
    )
    entries = entries.marked().prefetch_related(
        Prefetch("team__memberships", order_memberships_by_role_and_time())
    )
    listed: RegistrationQuerySet = entries.order_by("team__name").annotate(
        members=Count("team__memberships", distinct=True),
        runs=Coalesce(Subquery(runs.annotate(count=Count("pk")).values("count")), 0),
        last_run=Subquery(runs.annotate(last=Max("submitted_at")).values("last")),
    )
    return {
        "waiting": listed.waiting(),
        "approved": listed.approved(),
        "refused": listed.refused(),
        "form": EntryForm(of=season),
        "rules": rules or TeamRulesForm(of=season),
        "merge": MergeTeamsForm(of=season),
    }


decide_on_registration = pages.build_action_view(
    DECIDE_ON_REGISTRATION, "organise-teams season"
)
merge_season_teams = pages.build_action_view(MERGE_TEAMS, "organise-teams season")

change_registration_setting = pages.build_action_view(
    CHANGE_REGISTRATION_SETTING, "organise-teams season"
)


@pages.organiser_pages.act("organise-teams season", fields=None)
def edit_team_rules(
    request: pages.SignedInRequest, season: models.Season
) -> pages.ViewResult:
    form = TeamRulesForm(request.POST, of=season)
    pages.require_known_fields(request, form)
    with pages.add_refusals_to_form(form, "entry_list"):
        if form.is_valid():
            made = perform_confirmed_action(
                CHANGE_TEAM_LIMITS,
                season,
                request.user,
                form.cleaned_data,
                pages.read_action_confirmation(request),
            )
            return CHANGE_TEAM_LIMITS.told(season, made, form.cleaned_data)
    context = {"season": season, "part": "teams", **_build_teams_context(season, form)}
    return render(request, "organise/teams.html", context, status=422)


grant_extra_tries = pages.build_form_view(
    phases.GRANT_EXTRA_TRIES,
    "organise/extra_tries.html",
    "teams",
    at="team",
    shows=lambda request, season: {
        "given": models.ExtraTries.objects.filter(
            phase__task__season=season
        ).select_related("phase__task", "team", "given_by")
    },
)
withdraw_extra_tries = pages.build_action_view(
    phases.WITHDRAW_EXTRA_TRIES, "organise-tries season"
)


def _redirect_to_organisers_page(
    request: pages.SignedInRequest,
    thing: models.Season | models.Organiser,
    made: object,
) -> HttpResponseBase:
    season = thing.season if isinstance(thing, models.Organiser) else thing
    return redirect(
        "organise-people" if can_organise_season(request.user, season) else "season",
        season.slug,
    )


def _build_organisers_context(
    request: HttpRequest, season: models.Season
) -> dict[str, Any]:
    rows = models.Organiser.objects.filter(season=season).select_related("user")
    return {"people": rows.order_by("-role", "user__name")}


manage_organisers = pages.build_form_view(
    # The page asks for confirmation of a role, but the API changes a role immediately.
    replace(ASSIGN_SEASON_ROLE, is_rehearsed=True),
    "organise/people.html",
    "people",
    at="role",
    shows=_build_organisers_context,
    then=_redirect_to_organisers_page,
)
remove_season_organiser = pages.build_action_view(
    REMOVE_ORGANISER, "organise-people season", then=_redirect_to_organisers_page
)

MAX_ANNOUNCEMENTS_SHOWN = 50

publish_announcement = pages.build_form_view(
    PUBLISH_ANNOUNCEMENT,
    "organise/announcement.html",
    "announcement",
    shows=lambda request, season: {
        "announcements": season.announcements.select_related("announced_by")[
            :MAX_ANNOUNCEMENTS_SHOWN
        ]
    },
)
send_mail_to_teams = pages.build_form_view(
    SEND_MAIL_TO_TEAMS,
    "organise/mails.html",
    "mails",
    shows=lambda request, season: {"mails": find_sent_mails(season)},
)
edit_announcement = pages.build_form_view(
    EDIT_ANNOUNCEMENT,
    "organise/announcement_edit.html",
    "announcement",
    "organise-announcement season",
)
answer_question = pages.build_form_view(
    ANSWER_QUESTION, "organise/answer.html", "questions", "organise-questions season"
)
remove_webhook = pages.build_action_view(REMOVE_WEBHOOK, "organise-webhooks season")


@pages.PageDecorators(get_helped_season_or_404, "season").act(
    "organise-announcement season"
)
def withdraw_announcement(
    request: pages.SignedInRequest, season: models.Season, announcement: int
) -> pages.ViewResult:
    """Withdraw an announcement. A second withdrawal of an announcement has no effect."""
    revoked = get_object_or_404(models.Announcement, pk=announcement, season=season)
    return WITHDRAW_ANNOUNCEMENT.told(
        revoked, WITHDRAW_ANNOUNCEMENT(revoked, request.user), {}
    )


@pages.helper_pages.page("organise/questions.html", "questions")
def list_questions(request: HttpRequest, season: models.Season) -> pages.ViewResult:
    rows = models.Question.objects.filter(season=season).select_related(
        "asked_by", "answered_by"
    )
    ordered = rows.order_by(F("answered_at").desc(nulls_first=True), "-asked_at", "-pk")
    return {
        "page": pages.paginate_rows(request, ordered),
        "open": rows.unanswered().count(),
    }


edit_terms = pages.build_form_view(
    PUBLISH_TERMS,
    "organise/terms.html",
    "terms",
    shows=lambda request, season: {
        "versions": models.Terms.objects.filter(season=season).annotate(
            accepted=Count("acceptances")
        )
    },
)


@pages.organiser_pages.page()
def download_terms_acceptances(
    request: HttpRequest, season: models.Season
) -> pages.ViewResult:
    lines: list[list[Any]] = [
        ["version", "name", "address", "accepted_at", *FIELDS_ASKED_BY_TERMS]
    ]
    for row in list_terms_acceptances(season):
        given = [
            format_spreadsheet_cell(row.given.get(name, ""))
            for name in FIELDS_ASKED_BY_TERMS
        ]
        address = row.user.email if row.user else ""
        facts = [
            row.terms.number,
            format_spreadsheet_cell(row.name),
            format_spreadsheet_cell(address),
            row.accepted_at.isoformat(),
        ]
        lines.append([*facts, *given])
    return pages.build_download_response(
        format_as_csv(*lines), f"{season.slug}-terms.csv", is_private=True
    )


@never_cache
@pages.organiser_pages.form("organise/webhooks.html", "webhooks")
def manage_webhooks(
    request: pages.SignedInRequest, season: models.Season
) -> pages.ViewResult:
    """Show the webhooks. The page shows the secret of a new webhook once, after its
    creation.
    """
    form = WebhookForm(request.POST or None)
    pages.require_known_fields(request, form)
    with pages.add_refusals_to_form(form, "url"):
        if form.is_valid():
            webhook = CREATE_WEBHOOK(season, request.user, **form.cleaned_data)
            return render(
                request,
                "organise/webhooks.html",
                _build_webhook_secret_context(webhook),
            )
    return {"form": form, "webhooks": season.webhooks.all()}


def _build_webhook_secret_context(webhook: models.Webhook) -> dict[str, Any]:
    season, form = webhook.season, WebhookForm()
    context = {
        "season": season,
        "part": "webhooks",
        "form": form,
        "webhooks": season.webhooks.all(),
    }
    return {**context, "secret": derive_webhook_secret(webhook)}


@never_cache
@pages.organiser_pages.act("organise-webhooks season")
def renew_webhook_secret(
    request: pages.SignedInRequest, season: models.Season, webhook: models.Webhook
) -> pages.ViewResult:
    return render(
        request,
        "organise/webhooks.html",
        _build_webhook_secret_context(RENEW_WEBHOOK_SECRET(webhook, request.user)),
    )


@pages.organiser_pages.page("organise/deliveries.html", "webhooks")
def list_webhook_deliveries(
    request: HttpRequest, season: models.Season, webhook: models.Webhook
) -> pages.ViewResult:
    return {
        "page": pages.paginate_rows(request, webhook.deliveries.select_related("job"))
    }


@pages.organiser_pages.act("organise-webhooks season")
def repeat_webhook_delivery(
    request: pages.SignedInRequest, season: models.Season, delivery: models.Delivery
) -> pages.ViewResult:
    repeated = REPEAT_WEBHOOK_DELIVERY(delivery, request.user)
    messages.success(request, REPEAT_WEBHOOK_DELIVERY.told(delivery, repeated, {}))
    return redirect("organise-deliveries", season.slug, delivery.webhook_id)
