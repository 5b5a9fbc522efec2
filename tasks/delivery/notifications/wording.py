"""The texts of notifications, which contain only facts that the reader may currently
know, and no scores.
"""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _, gettext_lazy, ngettext

from citeboard.core.instants import format_day_and_time, is_endless_phase_end
from citeboard.core.words import count_with_noun, format_thousands, join_names
from citeboard.teams.models import Team
from tasks.models import Notification, Organiser, Phase, Submission
from tasks.models.notifications import NotificationKind

#: `AOE_ZONE` is Anywhere on Earth, the time zone in which each day ends last.
AOE_ZONE = dt.timezone(dt.timedelta(hours=-12), "AoE")


@dataclass(frozen=True)
class NotificationText:
    title: str
    text: str
    path: str


def write_notification_text(told: Notification) -> NotificationText:
    return _WRITERS[NotificationKind(told.kind)](told)


def _scored(told: Notification) -> NotificationText:
    title = _("%(run)s was scored") % {"run": _get_run_name(told)}
    text = _(
        "Every answer was compared with the gold of %(phase)s. The page of the run "
        "shows the scores that you may see."
    )
    return NotificationText(
        title, text % {"phase": _format_phase_name(told)}, _build_run_url(told)
    )


def _failed(notification: Notification) -> NotificationText:
    reason = notification.submission.reason if notification.submission else ""
    text = "\n\n".join(
        filter(None, (reason, _("The page of the run says what you can do.")))
    )
    return NotificationText(
        _("%(run)s could not be scored") % {"run": _get_run_name(notification)},
        text,
        _build_run_url(notification),
    )


def _refused(notification: Notification) -> NotificationText:
    text = _(
        "The file was checked after it was submitted, and cannot be scored as it is. "
        "The page of the run lists every problem by line. It has not used up a try."
    )
    return NotificationText(
        _("%(run)s was refused") % {"run": _get_run_name(notification)},
        text,
        _build_run_url(notification),
    )


def _rescored(notification: Notification) -> NotificationText:
    title = _("Runs of %(team)s in %(phase)s were rescored")
    texts = {
        "gold": _(
            "They are scored against version %(version)s of the gold. Nothing has to "
            "be submitted again."
        ),
        "options": _(
            "Options of the task were changed. Nothing has to be submitted again."
        ),
        "rules": _(
            "The rules of the task were changed. Nothing has to be submitted again."
        ),
        "nothing": _(
            "Gold, options and rules are the same as before. Nothing has to be "
            "submitted again."
        ),
    }
    text = texts[
        notification.facts.get("changed")
        or ("gold" if notification.facts.get("is_of_gold", True) else "options")
    ]
    title %= {"team": notification.team, "phase": _format_phase_name(notification)}
    return NotificationText(
        title, text % {"version": notification.facts["gold"]}, reverse("own-runs")
    )


def _deadline(told: Notification) -> NotificationText:
    title = _("%(phase)s closes at %(instant)s")
    title %= {
        "phase": _format_phase_name(told),
        "instant": _format_iso_instant(told.facts["closes"]),
    }
    return NotificationText(
        title, _("Runs whose upload begins before that count."), _build_board_url(told)
    )


def _moved(told: Notification) -> NotificationText:
    before, after = told.facts["before"], told.facts["after"]
    has_end = not is_endless_phase_end("closes", after)
    name = (
        _("%(phase)s closes at %(instant)s now")
        if has_end
        else _("%(phase)s has no end now")
    )
    name %= {"phase": _format_phase_name(told), "instant": _format_iso_instant(after)}
    text = (
        _("Before, it had no end.")
        if is_endless_phase_end("closes", before)
        else _("Before, it was %(instant)s.")
    )
    text %= {"instant": _format_iso_instant(before)}
    return NotificationText(name, text, _build_board_url(told))


def _limits(told: Notification) -> NotificationText:
    text = _("It was %(before)s; it is %(after)s now.")
    text %= {
        "before": _describe_run_limits(told.facts["before"]),
        "after": _describe_run_limits(told.facts["after"]),
    }
    title = _("How many runs a team may submit to %(phase)s was changed") % {
        "phase": _format_phase_name(told)
    }
    return NotificationText(title, text, _build_board_url(told))


def _tries(notification: Notification) -> NotificationText:
    tries = notification.facts["tries"]
    title = ngettext(
        "%(team)s may submit %(number)s more run to %(phase)s",
        "%(team)s may submit %(number)s more runs to %(phase)s",
        tries,
    ) % {
        "team": notification.team,
        "number": format_thousands(tries),
        "phase": _format_phase_name(notification),
    }
    return NotificationText(
        title,
        _format_organisers_reason(notification.facts["reason"]),
        _build_board_url(notification),
    )


def _excluded(notification: Notification) -> NotificationText:
    exclusion, reason = notification.facts["exclusion"], notification.facts["reason"]
    if exclusion:
        title = _("%(run)s was %(exclusion)s")
        title %= {
            "run": _get_run_name(notification),
            "exclusion": Submission.Exclusion(exclusion).label,
        }
    else:
        title = _("%(run)s was reinstated") % {"run": _get_run_name(notification)}
    text = (
        _format_organisers_reason(reason)
        if reason
        else _("The organisers have decided so.")
    )
    return NotificationText(title, text, _build_run_url(notification))


def _confirm(notification: Notification) -> NotificationText:
    phase = notification.phase
    assert phase is not None
    shows_runs = (
        phase.visible_detail_of_own_runs == Phase.OwnRunDetail.SCORES
        and not phase.is_frozen()
    )
    runs: dict[str, int] = notification.facts["runs"] if shows_runs else {}
    asked = _(
        "Its lead confirms each result that counts, or contests it, on the page of the run."
    )
    numbers = join_names(list(runs))
    which = ngettext(
        "It is run %(numbers)s.", "They are runs %(numbers)s.", len(runs)
    ) % {"numbers": numbers}
    anew = _(
        "The organisers have begun the confirmation anew; what was said of the same numbers before holds."
    )
    parts = [
        *([anew] if notification.facts["is_reopened"] else []),
        asked,
        *([which] if runs else []),
    ]
    title = _("Results of %(team)s in %(phase)s wait to be confirmed")
    path = (
        reverse("submission", args=[next(iter(runs.values()))])
        if runs
        else reverse("own-runs")
    )
    return NotificationText(
        title % {"team": notification.team, "phase": _format_phase_name(notification)},
        " ".join(parts),
        path,
    )


def _announced(notification: Notification) -> NotificationText:
    return NotificationText(
        _("Announcement of %(season)s") % {"season": notification.season},
        notification.facts["text"],
        _build_season_url(notification),
    )


def _mailed(notification: Notification) -> NotificationText:
    named = {"season": notification.season, "subject": notification.facts["subject"]}
    return NotificationText(
        _("Organisers of %(season)s: %(subject)s") % named,
        notification.facts["text"],
        _build_season_url(notification),
    )


def _terms(told: Notification) -> NotificationText:
    since = told.facts["counts_from"]
    text = _(
        "It applies at once: people who have not accepted it get no data and cannot "
        "submit runs."
    )
    if since:
        text = _(
            "It applies from %(instant)s: people who have not accepted it then get no "
            "data and cannot submit runs."
        )
        text %= {"instant": _format_iso_instant(since)}
    title = _("Version %(version)s of the terms of %(season)s")
    named = {"version": told.facts["version"], "season": told.season}
    return NotificationText(
        title % named, text, reverse("terms", args=[_get_season_slug(told)])
    )


def _decided(told: Notification) -> NotificationText:
    takes, refused = (
        _("%(team)s takes part in %(season)s"),
        _("%(team)s does not take part in %(season)s"),
    )
    title = takes if told.facts["is_approved"] else refused
    reason = told.facts["reason"]
    text = _("An organiser has decided.") + (
        f" {_format_organisers_reason(reason)}" if reason else ""
    )
    return NotificationText(
        title % {"team": told.team, "season": told.season},
        text,
        _build_season_url(told),
    )


def _role(notification: Notification) -> NotificationText:
    if not notification.facts["role"]:
        title = _("You do not organise %(season)s any more") % {
            "season": notification.season
        }
        text = _("Its pages for organisers are closed to you.")
        return NotificationText(title, text, _build_season_url(notification))
    organises, helps = (
        _("You are an organiser of %(season)s now"),
        _("You are a helper of %(season)s now"),
    )
    title = (
        organises if notification.facts["role"] == Organiser.Role.ORGANISER else helps
    )
    text = _("Its pages for organisers are open to you.")
    return NotificationText(
        title % {"season": notification.season},
        text,
        reverse("organise", args=[_get_season_slug(notification)]),
    )


def _sheet(notification: Notification) -> NotificationText:
    if notification.facts.get("pairs"):
        text = _(
            "You see two texts without the names of the systems that wrote them, and choose the better one."
        )
        title = _("Pairs of texts of %(phase)s wait for you") % {
            "phase": _format_phase_name(notification)
        }
        return NotificationText(
            title, text, reverse("judge", args=[notification.facts["sheet"]])
        )
    text = _(
        "You see texts without the names of the systems that wrote them, and rate each."
    )
    title = _("Texts of %(phase)s wait for your ratings") % {
        "phase": _format_phase_name(notification)
    }
    return NotificationText(
        title, text, reverse("annotate", args=[notification.facts["sheet"]])
    )


def _asked(told: Notification) -> NotificationText:
    says, says_nothing = (
        _("It says: %(message)s"),
        _("It submits no runs until somebody approves it."),
    )
    text = (says if told.facts["message"] else says_nothing) % told.facts
    address = reverse("organise-teams", args=[_get_season_slug(told)])
    title = _("%(team)s asks to take part in %(season)s") % {
        "team": told.team,
        "season": told.season,
    }
    return NotificationText(title, text, address)


def _join_asked(notification: Notification) -> NotificationText:
    says, says_nothing = (
        _("They say: %(message)s"),
        _("Any member of the team can accept or decline."),
    )
    text = (
        says if notification.facts["message"] else says_nothing
    ) % notification.facts
    address = f"{reverse('team', args=[_require_team(notification).slug])}#members"
    title = _("%(person)s asks to join %(team)s") % {
        "person": notification.facts["person"],
        "team": notification.team,
    }
    return NotificationText(title, text, address)


def _join_decided(notification: Notification) -> NotificationText:
    if notification.facts["is_accepted"]:
        title = _("You are in %(team)s now") % {"team": notification.team}
        path = reverse("team", args=[_require_team(notification).slug])
        return NotificationText(
            title, _("A member of the team has accepted you."), path
        )
    title = _("%(team)s has declined that you join") % {"team": notification.team}
    return NotificationText(
        title,
        _("You can enter the season with a team of your own, or ask another."),
        _build_season_url(notification),
    )


def _merge_asked(notification: Notification) -> NotificationText:
    text = _(
        "If you accept, its members come into your team, and its runs and tries in %(season)s become yours. "
        "You can decline."
    ) % {"season": notification.season}
    address = f"{reverse('team', args=[_require_team(notification).slug])}#merge"
    title = _("%(other)s asks to merge into %(team)s") % {
        "other": notification.facts["other"],
        "team": notification.team,
    }
    return NotificationText(title, text, address)


def _merged(notification: Notification) -> NotificationText:
    reason = notification.facts["reason"]
    text = _(
        "Members, runs and tries in %(season)s are those of one team now, called %(team)s."
    )
    text %= {"season": notification.season, "team": notification.team}
    text += f"\n\n{_format_organisers_reason(reason)}" if reason else ""
    path = reverse("team", args=[_require_team(notification).slug])
    title = _("%(other)s was merged into %(team)s") % {
        "other": notification.facts["other"],
        "team": notification.team,
    }
    return NotificationText(title, text, path)


def _question(notification: Notification) -> NotificationText:
    address = reverse("organise-questions", args=[_get_season_slug(notification)])
    return NotificationText(
        _("A question on %(season)s") % {"season": notification.season},
        notification.facts["text"],
        address,
    )


def _answered(told: Notification) -> NotificationText:
    asked, answered = told.facts["question"], told.facts["answer"]
    text = "\n\n".join((_("You asked:"), asked, _("The organisers say:"), answered))
    address = reverse("questions", args=[_get_season_slug(told)])
    return NotificationText(
        _("Your question on %(season)s was answered") % {"season": told.season},
        text,
        address,
    )


def _reported(notification: Notification) -> NotificationText:
    about = notification.facts["address"]
    first = _("About %(address)s.") % {"address": about} + "\n\n" if about else ""
    return NotificationText(
        _("Abuse is reported"),
        f"{first}{notification.facts['text']}",
        reverse("operate-reports"),
    )


_CLAIM_STATE_TEXTS = {
    ("earlier", "open"): gettext_lazy(
        "That season came later, and nothing follows from it until they decide."
    ),
    ("earlier", "binding"): gettext_lazy(
        "That season came later: until they release it, it withholds what yours "
        "withholds of these texts."
    ),
    ("earlier", "released"): gettext_lazy(
        "That season came later, and they have released it."
    ),
    ("later", "open"): gettext_lazy("Nothing follows from it until they decide."),
    ("later", "binding"): gettext_lazy(
        "Until they release this season, its boards, own scores and inputs of these texts follow the "
        "stricter setting of both."
    ),
    ("later", "released"): gettext_lazy(
        "They have released this season: its own settings count."
    ),
}


def _shared(notification: Notification) -> NotificationText:
    title = _("%(season)s and another season show the same texts") % {
        "season": notification.season
    }
    text = _("It shares texts with a season of another organiser; staff can say more.")
    if notification.facts:
        text += f" {_CLAIM_STATE_TEXTS[notification.facts['side'], notification.facts['state']]}"
        reason = notification.facts["reason"]
        text += (
            "\n\n" + _("They say: %(message)s") % {"message": reason} if reason else ""
        )
    return NotificationText(
        title, text, reverse("organise-gold", args=[_get_season_slug(notification)])
    )


def _claim(notification: Notification) -> NotificationText:
    text = _(
        "%(later)s came after %(season)s and shows many of its texts. You decide "
        "whether it follows what that one withholds."
    )
    return NotificationText(
        _("Seasons with the same texts wait for your decision"),
        text % notification.facts,
        reverse("operate-claims"),
    )


#: `_WRITERS` maps each kind of notification to the function with the name of the kind.
_WRITERS: dict[NotificationKind, Callable[[Notification], NotificationText]] = {
    kind: globals()[f"_{kind.name.lower()}"] for kind in NotificationKind
}


def _get_run_name(told: Notification) -> str:
    run = told.submission
    if run is None:
        return _("A run of %(team)s") % {"team": told.team}
    message = _("Run %(number)s, “%(system)s”, of %(team)s")
    return message % {"number": run.number, "system": run.system, "team": told.team}


def _format_organisers_reason(reason: str) -> str:
    return _("The organisers say: %(reason)s") % {"reason": reason}


def _build_run_url(notification: Notification) -> str:
    return reverse("submission", args=[notification.submission_id])


def _format_phase_name(notification: Notification) -> str:
    assert notification.phase is not None
    return f"{notification.phase.task}, {notification.phase}"


def _build_board_url(told: Notification) -> str:
    assert told.phase is not None
    return reverse(
        "board", args=[_get_season_slug(told), told.phase.task.slug, told.phase.slug]
    )


def _build_season_url(told: Notification) -> str:
    return reverse("season", args=[_get_season_slug(told)])


def _format_iso_instant(written: str) -> str:
    at = dt.datetime.fromisoformat(written)
    return f"{format_day_and_time(at)} UTC ({format_day_and_time(at, AOE_ZONE)} AoE)"


def _describe_run_limits(limits: list[Any]) -> str:
    a_day, in_total = limits
    parts = (
        [_("%(runs)s a day") % {"runs": count_with_noun(a_day, "run")}]
        if a_day is not None
        else []
    )
    parts += (
        [_("%(runs)s in total") % {"runs": count_with_noun(in_total, "run")}]
        if in_total is not None
        else []
    )
    return join_names(parts) or _("any number")


def _require_team(told: Notification) -> Team:
    assert told.team is not None
    return told.team


def _get_season_slug(told: Notification) -> str:
    assert told.season is not None
    return told.season.slug
