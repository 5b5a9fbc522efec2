"""Undo organisers' actions within ten minutes, by the data that the history stores."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.deletion import ProtectedError
from django.utils import timezone
from django.utils.translation import gettext as _, ngettext

from citeboard.core import audit
from citeboard.core.models import AuditEntry
from citeboard.core.refusals import ActionRefused
from citeboard.ops.pruning import delete_season
from citeboard.teams.models import User
from scoring.models import Evaluation
from scoring.worker.declaring import DECLARATION_CHANGED_KEY, restore_declaration
from tasks.delivery.notifications.events import PHASE_DATE_NOTIFICATION_KINDS
from tasks.delivery.webhooks.services import (
    UNDO_GRACE_PERIOD,
    delay_messages_until_undo_ends,
)
from tasks.gold.early import refuse_early_disclosure
from tasks.jobs.leases import queue_missing_scorings
from tasks.models import (
    Delivery,
    ExtraTries,
    Gold,
    Job,
    Notification,
    Phase,
    Season,
    Submission,
    Task,
    Terms,
)
from tasks.models.seasons import increment_board_version
from tasks.registration.entries import (
    TeamEntryRefused,
    get_newest_terms,
    undo_entry_decision,
)
from tasks.seasons.file.entries import (
    SEASON_KEY_PREFIX,
    SEASON_TERMS_KEY,
    load_rows_by_key_prefix,
)
from tasks.seasons.file.load import change_settings
from tasks.seasons.organisers import restore_organiser

#: An entry with the action UNDO_ACTION_NAME records the undoing of another history entry.
UNDO_ACTION_NAME = "taken-back"
SENT_MESSAGE_IDS_KEY = "posts"


def record_sent_messages(season: Season, last: int, events: list[str]) -> None:
    """Store the ids of the messages about an action in the history entry of the action.

    The history entry of the action is the newest entry after ``last`` that can be
    undone. Call this function in the database transaction of the action.
    """
    if events:
        of_act = (
            audit.find_history_of_place(season)
            .filter(pk__gt=last, action__in=_UNDO_FUNCTIONS_BY_ACTION)
            .order_by("-pk")
            .first()
        )
        if of_act is not None:
            of_act.facts = {**(of_act.facts or {}), SENT_MESSAGE_IDS_KEY: events}
            of_act.save(update_fields=["facts"])


def find_entries_to_undo(season: Season) -> list[AuditEntry]:
    since = timezone.now() - UNDO_GRACE_PERIOD
    entries = list(
        audit.find_history_of_place(season).filter(
            at__gt=since, action__in=[UNDO_ACTION_NAME, *_UNDO_FUNCTIONS_BY_ACTION]
        )
    )
    done = {entry.subject_id for entry in entries if entry.action == UNDO_ACTION_NAME}
    # Undoing the declaration of a task also undoes the publication of its gold.
    done |= {entry.pk for entry in entries if (entry.facts or {}).get("anew")}
    known = [
        entry
        for entry in entries
        if entry.action != UNDO_ACTION_NAME and entry.pk not in done
    ]
    return [
        entry
        for entry in known
        # An uploaded season file can be undone only if the file changed settings.
        # An uploaded season file cannot be undone if it created tasks or phases.
        if _UNDO_FUNCTIONS_BY_ACTION[entry.action] is not _undo_setting_changes
        or (
            any(map(_is_season_setting_change, entry.changes))
            and ": created" not in str((entry.facts or {}).get("changes", ""))
        )
    ]


def undo_action(*, season: Season, entry: AuditEntry, by: User) -> str:
    """Undo the user action of a history entry.

    Returns sentences about effects of the action that cannot be undone, or an empty
    text. Raises Refused if the action can no longer be undone.
    """
    if entry not in find_entries_to_undo(season):
        raise ActionRefused(_("this cannot be taken back any more"))
    with transaction.atomic():
        # The season's row is locked, so that two requests cannot undo an action twice.
        Season.objects.select_for_update().get(pk=season.pk)
        if entry not in find_entries_to_undo(season):
            raise ActionRefused(_("somebody has taken this back already"))
        with (
            refuse_early_disclosure(season, by=by),
            delay_messages_until_undo_ends() as anew,
        ):
            stays = _UNDO_FUNCTIONS_BY_ACTION[entry.action](season, entry, by)
        if not (
            sent := withdraw_messages((entry.facts or {}).get(SENT_MESSAGE_IDS_KEY, []))
        ):
            # The undoing sends no message if the action sent no message.
            withdraw_messages(anew)
        with audit.render_in_english():
            facts = {"what": entry.words}
        audit.record_action(
            UNDO_ACTION_NAME, actor=by, subject=entry, place=season, facts=facts
        )
    told = ngettext(
        "%(number)s message had gone out.", "%(number)s messages had gone out.", sent
    )
    return " ".join(
        [*([told % {"number": sent}] if sent else []), *([stays] if stays else [])]
    )


def withdraw_messages(events: list[str]) -> int:
    """Delete the notifications and webhook deliveries about ``events`` that were not
    sent yet.

    Returns the number of messages that were already sent.
    """
    sent = 0
    mails = Notification.objects.filter(event__in=events).exclude(
        kind__in=PHASE_DATE_NOTIFICATION_KINDS
    )
    for rows, kind in (
        (mails, Job.Kind.MAIL),
        (Delivery.objects.filter(event__in=events), Job.Kind.WEBHOOK),
    ):
        sent += rows.filter(job__state=Job.State.DONE).count()
        waiting = list(rows.exclude(job__state=Job.State.DONE).values_list("pk", "job"))
        rows.filter(pk__in=[row for row, _job in waiting]).delete()
        Job.all_kinds.filter(
            pk__in=[job for _row, job in waiting if job], kind=kind
        ).delete()
    return sent


def _is_season_setting_change(change: Mapping[str, Any]) -> bool:
    """Return True if a change in a history entry concerns a setting of the season.

    Changes of terms, gold and organisers are not settings, and have separate history
    entries.
    """
    key = str(change["key"])
    is_person = key.startswith(f"{SEASON_KEY_PREFIX}.organisers.")
    return not is_person and key != SEASON_TERMS_KEY and key.split(".")[2:3] != ["gold"]


def _undo_setting_changes(season: Season, entry: AuditEntry, by: User) -> str:
    rows, values = load_rows_by_key_prefix(season), dict[str, Any]()
    changes = [change for change in entry.changes if _is_season_setting_change(change)]
    for change in changes:
        prefix, _dot, key = str(change["key"]).rpartition(".")
        prefix = prefix or SEASON_KEY_PREFIX
        row = rows.get(prefix)
        names = {name: name for name in row.SETTINGS} if row else {}
        names |= {row.key(name): name for name in row.SETTINGS} if row else {}
        if row is None or key not in names:
            raise ActionRefused(
                _("%(key)s is not there any more") % {"key": change["key"]}
            )
        name = names[key]
        if audit.convert_to_json_value(getattr(row, name)) != change["after"]:
            raise ActionRefused(
                _("%(key)s has been changed since") % {"key": change["key"]}
            )
        before = change["before"]
        value = (
            before.splitlines()
            if name == "entry_list"
            else row.field(name).to_python(before)
        )
        values[f"{prefix}.{row.key(name)}"] = value
    change_settings(season=season, values=values, by=by)
    stays = [_("What was shown meanwhile may have been seen.")]
    if len(changes) < len(entry.changes):
        stays.append(
            _(
                "Terms, gold and organisers of the file have entries of their own and stay."
            )
        )
    return " ".join(stays)


def _undo_terms_publication(season: Season, entry: AuditEntry, by: User) -> str:
    if (terms := get_newest_terms(season)) is None or terms.pk != entry.subject_id:
        raise ActionRefused(_("there is a later version of the terms"))
    accepted = terms.acceptances.count()
    Terms.objects.filter(pk=terms.pk).delete()
    message = ngettext(
        "%(number)s person had accepted it.",
        "%(number)s people had accepted it.",
        accepted,
    )
    return message % {"number": accepted} if accepted else ""


def _undo_declaration_change(season: Season, entry: AuditEntry, by: User) -> str:
    facts = entry.facts or {}
    task = (
        Task.objects.select_related("season")
        .filter(pk=entry.subject_id, season=season)
        .first()
    )
    if task is None or task.declaration_id != facts.get("after"):
        raise ActionRefused(
            _("%(task)s has been declared anew since") % {"task": entry.subject}
        )
    for gold in facts["golds"].split():
        _withdraw_gold_version(season, int(gold))
    restore_declaration(task, json.loads(facts["before"]), by)
    for phase in Phase.objects.filter(task=task).select_related("task"):
        queue_missing_scorings(phase)
    return ""


def _undo_gold_publication(season: Season, entry: AuditEntry, by: User) -> str:
    task, split = _withdraw_gold_version(season, entry.subject_id)
    for phase in Phase.objects.filter(task=task, split=split).select_related("task"):
        increment_board_version(phase.pk)
        queue_missing_scorings(phase)
    return _("Inputs of it may have been downloaded meanwhile.")


def _withdraw_gold_version(season: Season, pk: int) -> tuple[int, str]:
    gold = (
        Gold.objects.filter(pk=pk, task__season=season).select_related("task").first()
    )
    if gold is None:
        raise ActionRefused(_("the version is not there any more"))
    Task.objects.select_for_update().get(pk=gold.task_id)
    others = Gold.objects.filter(task=gold.task_id, split=gold.split).exclude(
        pk=gold.pk
    )
    if others.filter(number__gt=gold.number).exists():
        raise ActionRefused(_("there is a later version of the gold"))
    scored = Evaluation.objects.filter(gold=gold)
    if scored.exists() and not others.exists():
        raise ActionRefused(
            _("runs were scored with it, and there is no version before it")
        )
    try:
        with transaction.atomic():
            Job.objects.filter(gold=gold).delete()
            scored.delete()
            gold.delete()
    except ProtectedError as kept:
        raise ActionRefused(_("a stored board rests on it")) from kept
    told = f"-rescored-{pk}-"
    mails = Notification.objects.filter(season=season, event__contains=told).exclude(
        job=None
    )
    Job.all_kinds.filter(pk__in=mails.values("job"), kind=Job.Kind.MAIL).delete()
    Notification.objects.filter(season=season, event__contains=told).delete()
    return gold.task_id, gold.split


def _undo_gold_seal(season: Season, entry: AuditEntry, by: User) -> str:
    gold = Gold.objects.filter(pk=entry.subject_id, task__season=season)
    gold.update(sealed_at=None)
    for phase in Phase.objects.filter(
        task__gold__in=gold, split__in=gold.values("split")
    ):
        increment_board_version(phase.pk)
    return ""


def _undo_season_creation(season: Season, entry: AuditEntry, by: User) -> str:
    if (made := Season.objects.filter(pk=entry.subject_id).first()) is None:
        raise ActionRefused(
            _("%(season)s is not there any more") % {"season": entry.subject}
        )
    if audit.find_history_of_place(made).filter(pk__gt=entry.pk).exists():
        raise ActionRefused(
            _("%(season)s has been changed since; its settings can delete it")
            % {"season": made}
        )
    delete_season(season=made, by=by)
    return ""


def _undo_extra_tries(season: Season, entry: AuditEntry, by: User) -> str:
    facts = entry.facts or {}
    extra_tries = ExtraTries.objects.filter(
        pk=facts.get("given", 0), phase__task__season=season
    ).first()
    if extra_tries is None:
        raise ActionRefused(_("they are taken back already"))
    extra_tries.delete()
    return _describe_runs_submitted_later(
        entry,
        Submission.objects.filter(team=extra_tries.team_id, phase=extra_tries.phase_id),
    )


def _undo_entry_decision(season: Season, entry: AuditEntry, by: User) -> str:
    try:
        place = undo_entry_decision(
            season=season, team=entry.subject_id, facts=entry.facts or {}
        )
    except TeamEntryRefused as refused:
        raise ActionRefused(str(refused)) from refused
    return _describe_runs_submitted_later(
        entry, Submission.objects.filter(team=place.team_id, phase__task__season=season)
    )


def _undo_organiser_removal(season: Season, entry: AuditEntry, by: User) -> str:
    user = User.objects.filter(pk=entry.subject_id, is_active=True).first()
    if user is None:
        raise ActionRefused(_("there is no such account any more"))
    [change] = entry.changes
    restore_organiser(season=season, user=user, role=str(change["before"]), by=by)
    return ""


def _describe_runs_submitted_later(
    entry: AuditEntry, runs: QuerySet[Submission]
) -> str:
    sent = runs.filter(submitted_at__gt=entry.at).count()
    message = ngettext(
        "%(number)s run was submitted meanwhile.",
        "%(number)s runs were submitted meanwhile.",
        sent,
    )
    return message % {"number": sent} if sent else ""


_UNDO_FUNCTIONS_BY_ACTION: dict[str, Callable[[Season, AuditEntry, User], str]] = {
    **dict.fromkeys(
        (
            "settings-changed",
            "phase-changed",
            "phase-moved",
            "phase-opened",
            "phase-closed",
            "board-changed",
            "board-frozen",
            "entry-changed",
            "list-changed",
            "team-limits",
            "season-loaded",
        ),
        _undo_setting_changes,
    ),
    "terms-published": _undo_terms_publication,
    "gold-added": _undo_gold_publication,
    DECLARATION_CHANGED_KEY: _undo_declaration_change,
    "gold-sealed": _undo_gold_seal,
    **dict.fromkeys(("season-cloned", "season-made"), _undo_season_creation),
    "tries-given": _undo_extra_tries,
    **dict.fromkeys(("team-approved", "team-refused"), _undo_entry_decision),
    "teams-mailed": lambda season, entry, by: "",
    **dict.fromkeys(("organiser-removed", "helper-removed"), _undo_organiser_removal),
}
