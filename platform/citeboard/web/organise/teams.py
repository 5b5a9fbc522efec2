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
    ANNOUNCE,
    EDIT_ANNOUNCEMENT,
    TAKE_BACK_ANNOUNCEMENT,
)
from citeboard.acts.mails import MAIL_TEAMS
from citeboard.acts.merging import MERGE_TEAMS, MergeTeamsForm
from citeboard.acts.organisers import GIVE_ROLE, REMOVE_ORGANISER
from citeboard.acts.questions import ANSWER
from citeboard.acts.registration import (
    CHANGE_ENTRY,
    DECIDE,
    LIMIT_TEAMS,
    EntryForm,
    TeamRulesForm,
)
from citeboard.acts.rehearsal import perform
from citeboard.acts.terms import PUBLISH_TERMS
from citeboard.acts.webhooks import (
    MAKE_WEBHOOK,
    REMOVE_WEBHOOK,
    RENEW_SECRET,
    REPEAT_DELIVERY,
    WebhookForm,
)
from citeboard.core.plain_text import plain
from citeboard.ops.group_mails import sent_mails
from citeboard.teams.access import memberships_by_role_and_time
from citeboard.teams.models import ASKED_BY_TERMS
from citeboard.web import pages
from scoring.results.board.exports import csv_text
from tasks import models
from tasks.delivery.webhooks.services import secret_of
from tasks.models.registrations import RegistrationQuerySet
from tasks.registration.entries import acceptances
from tasks.seasons.access import may_organise, season_to_help


@pages.helpers.page("organise/teams.html", "teams")
def teams(request: HttpRequest, season: models.Season) -> pages.Answer:
    return _teams_by_state(season)


def _teams_by_state(
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
        Prefetch("team__memberships", memberships_by_role_and_time())
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


decide = pages.build_action_view(DECIDE, "organise-teams season")
merge = pages.build_action_view(MERGE_TEAMS, "organise-teams season")

entry = pages.build_action_view(CHANGE_ENTRY, "organise-teams season")


@pages.organisers.act("organise-teams season", fields=None)
def rules(request: pages.SignedInRequest, season: models.Season) -> pages.Answer:
    form = TeamRulesForm(request.POST, of=season)
    pages.require_known_fields(request, form)
    with pages.add_refusals_to_form(form, "entry_list"):
        if form.is_valid():
            made = perform(
                LIMIT_TEAMS,
                season,
                request.user,
                form.cleaned_data,
                pages.confirmation_in_request(request),
            )
            return LIMIT_TEAMS.told(season, made, form.cleaned_data)
    context = {"season": season, "part": "teams", **_teams_by_state(season, form)}
    return render(request, "organise/teams.html", context, status=422)


extra_tries = pages.build_form_view(
    phases.GIVE_TRIES,
    "organise/extra_tries.html",
    "teams",
    at="team",
    shows=lambda request, season: {
        "given": models.ExtraTries.objects.filter(
            phase__task__season=season
        ).select_related("phase__task", "team", "given_by")
    },
)
revoke_tries = pages.build_action_view(phases.TAKE_TRIES_BACK, "organise-tries season")


def _redirect_to_people(
    request: pages.SignedInRequest,
    thing: models.Season | models.Organiser,
    made: object,
) -> HttpResponseBase:
    season = thing.season if isinstance(thing, models.Organiser) else thing
    return redirect(
        "organise-people" if may_organise(request.user, season) else "season",
        season.slug,
    )


def _organisers_context(request: HttpRequest, season: models.Season) -> dict[str, Any]:
    rows = models.Organiser.objects.filter(season=season).select_related("user")
    return {"people": rows.order_by("-role", "user__name")}


people = pages.build_form_view(
    # The page asks for confirmation of a role, but the API changes a role immediately.
    replace(GIVE_ROLE, is_rehearsed=True),
    "organise/people.html",
    "people",
    at="role",
    shows=_organisers_context,
    then=_redirect_to_people,
)
remove_person = pages.build_action_view(
    REMOVE_ORGANISER, "organise-people season", then=_redirect_to_people
)

MAX_ANNOUNCEMENTS_SHOWN = 50

announcement = pages.build_form_view(
    ANNOUNCE,
    "organise/announcement.html",
    "announcement",
    shows=lambda request, season: {
        "announcements": season.announcements.select_related("announced_by")[
            :MAX_ANNOUNCEMENTS_SHOWN
        ]
    },
)
mails = pages.build_form_view(
    MAIL_TEAMS,
    "organise/mails.html",
    "mails",
    shows=lambda request, season: {"mails": sent_mails(season)},
)
edit = pages.build_form_view(
    EDIT_ANNOUNCEMENT,
    "organise/announcement_edit.html",
    "announcement",
    "organise-announcement season",
)
answer_page = pages.build_form_view(
    ANSWER, "organise/answer.html", "questions", "organise-questions season"
)
remove = pages.build_action_view(REMOVE_WEBHOOK, "organise-webhooks season")


@pages.PageDecorators(season_to_help, "season").act("organise-announcement season")
def revoke(
    request: pages.SignedInRequest, season: models.Season, announcement: int
) -> pages.Answer:
    """Withdraw an announcement. A second withdrawal of an announcement has no effect."""
    revoked = get_object_or_404(models.Announcement, pk=announcement, season=season)
    return TAKE_BACK_ANNOUNCEMENT.told(
        revoked, TAKE_BACK_ANNOUNCEMENT(revoked, request.user), {}
    )


@pages.helpers.page("organise/questions.html", "questions")
def questions(request: HttpRequest, season: models.Season) -> pages.Answer:
    rows = models.Question.objects.filter(season=season).select_related(
        "asked_by", "answered_by"
    )
    ordered = rows.order_by(F("answered_at").desc(nulls_first=True), "-asked_at", "-pk")
    return {
        "page": pages.paginate_rows(request, ordered),
        "open": rows.unanswered().count(),
    }


terms = pages.build_form_view(
    PUBLISH_TERMS,
    "organise/terms.html",
    "terms",
    shows=lambda request, season: {
        "versions": models.Terms.objects.filter(season=season).annotate(
            accepted=Count("acceptances")
        )
    },
)


@pages.organisers.page()
def acceptances_csv(request: HttpRequest, season: models.Season) -> pages.Answer:
    lines: list[list[Any]] = [
        ["version", "name", "address", "accepted_at", *ASKED_BY_TERMS]
    ]
    for row in acceptances(season):
        given = [plain(row.given.get(name, "")) for name in ASKED_BY_TERMS]
        address = row.user.email if row.user else ""
        facts = [
            row.terms.number,
            plain(row.name),
            plain(address),
            row.accepted_at.isoformat(),
        ]
        lines.append([*facts, *given])
    return pages.download_response(
        csv_text(*lines), f"{season.slug}-terms.csv", is_private=True
    )


@never_cache
@pages.organisers.form("organise/webhooks.html", "webhooks")
def webhooks(request: pages.SignedInRequest, season: models.Season) -> pages.Answer:
    """Show the webhooks. The page shows the secret of a new webhook once, after its
    creation.
    """
    form = WebhookForm(request.POST or None)
    pages.require_known_fields(request, form)
    with pages.add_refusals_to_form(form, "url"):
        if form.is_valid():
            webhook = MAKE_WEBHOOK(season, request.user, **form.cleaned_data)
            return render(
                request, "organise/webhooks.html", _webhook_secret_context(webhook)
            )
    return {"form": form, "webhooks": season.webhooks.all()}


def _webhook_secret_context(webhook: models.Webhook) -> dict[str, Any]:
    season, form = webhook.season, WebhookForm()
    context = {
        "season": season,
        "part": "webhooks",
        "form": form,
        "webhooks": season.webhooks.all(),
    }
    return {**context, "secret": secret_of(webhook)}


@never_cache
@pages.organisers.act("organise-webhooks season")
def renew(
    request: pages.SignedInRequest, season: models.Season, webhook: models.Webhook
) -> pages.Answer:
    return render(
        request,
        "organise/webhooks.html",
        _webhook_secret_context(RENEW_SECRET(webhook, request.user)),
    )


@pages.organisers.page("organise/deliveries.html", "webhooks")
def deliveries(
    request: HttpRequest, season: models.Season, webhook: models.Webhook
) -> pages.Answer:
    return {
        "page": pages.paginate_rows(request, webhook.deliveries.select_related("job"))
    }


@pages.organisers.act("organise-webhooks season")
def repeat(
    request: pages.SignedInRequest, season: models.Season, delivery: models.Delivery
) -> pages.Answer:
    repeated = REPEAT_DELIVERY(delivery, request.user)
    messages.success(request, REPEAT_DELIVERY.told(delivery, repeated, {}))
    return redirect("organise-deliveries", season.slug, delivery.webhook_id)
