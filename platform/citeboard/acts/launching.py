"""Actions before the start of a season, which set all dates and upload all gold."""

import datetime as dt
from dataclasses import replace
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext, gettext_lazy as _

from citeboard.acts.declared import ActForm, EndField, MomentField, by_organisers
from citeboard.acts.gold import PUBLISH_GOLD, GoldForm, packed_gold
from citeboard.acts.overwriting import OverwritingForm
from citeboard.acts.rehearsal import ActionConfirmation, perform
from citeboard.acts.season_settings import CHANGE_SETTINGS
from citeboard.core.instants import ENDLESS_TIME
from citeboard.ops.launching import scored_phases, send_test_mail
from citeboard.teams.models import User
from scoring.worker import baseline_runs
from scoring.worker.rescoring import GoldRefused
from tasks.models import Gold, Phase, Season, Task
from tasks.models.seasons import SEASON_DATES
from tasks.seasons.file.entries import SEASON_PREFIX, phase_prefix
from tasks.seasons.file.export import season_file_structure
from tasks.seasons.file.load import change_settings
from tasks.seasons.presets import MAX_POSTPONED_DAYS, remove_uninherited_settings
from tasks.seasons.timeline import build_time_line

MOVE, COPY = "move", "copy"
#: The page before the start shows at most MAX_PROBLEMS_SHOWN errors of each gold file.
MAX_PROBLEMS_SHOWN = 5


class CalendarForm(ActForm, OverwritingForm):
    """The dates of a season and its phases, by their keys in the season file. The
    chosen dates are moved or copied.

    The form saves only the dates that the user has changed.
    """

    do = forms.ChoiceField(choices=[(MOVE, MOVE), (COPY, COPY)], required=False)
    chosen = forms.MultipleChoiceField(required=False)
    days = forms.IntegerField(
        label=_("Days"),
        required=False,
        min_value=-MAX_POSTPONED_DAYS,
        max_value=MAX_POSTPONED_DAYS,
    )
    into = forms.MultipleChoiceField(
        label=_("Into the tasks"), required=False, widget=forms.CheckboxSelectMultiple
    )

    def __init__(self, data: Any = None, files: Any = None, *, of: Season) -> None:
        super().__init__(data, of=of)
        self.line = build_time_line(of)
        self.phases: dict[str, Phase] = {
            phase_prefix(row["task"].slug, row["phase"].slug): row["phase"]
            for row in self.line["lines"]
        }
        for name in SEASON_DATES:
            self._add_moment_field(name, Season.date_label(name), getattr(of, name), of)
        for key, phase in self.phases.items():
            for name, words, at in (
                ("opens", gettext("Opens"), phase.opens),
                ("closes", gettext("Closes"), phase.end),
            ):
                self._add_moment_field(
                    f"{key}.{name}", f"{words}, {phase.task}, {phase}", at, phase
                )
        keys = [(key, key) for key in (*SEASON_DATES, *self.phases)]
        self.fields["chosen"].choices = keys  # type: ignore[attr-defined]
        tasks = Task.objects.filter(season=of, is_reported_only=False)
        self.fields["into"].choices = [(task.slug, str(task)) for task in tasks]  # type: ignore[attr-defined]

    def _add_moment_field(
        self, key: str, label: str, at: dt.datetime | None, of: Season | Phase
    ) -> None:
        kind = EndField if key.endswith(".closes") else MomentField
        field = kind(
            label=label,
            zone=of.zone,
            required=key.endswith(".opens"),
            show_hidden_initial=True,
        )
        field.widget.attrs["aria-label"] = label
        self.fields[key], self.initial[key] = field, at

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of the season's calendar, first the phases and then the
        season's other dates.
        """
        bars = {row["label"]: row["bar"] for row in self.line["dates"]}
        chosen = set(self["chosen"].value() or ())
        rows = [
            {
                **row,
                "key": key,
                "opens": self[f"{key}.opens"],
                "closes": self[f"{key}.closes"],
            }
            for key, row in zip(self.phases, self.line["lines"], strict=True)
        ]
        for name in SEASON_DATES:
            label = Season.date_label(name)
            rows.append(
                {
                    "key": name,
                    "label": label,
                    "bar": bars.get(label, ""),
                    "opens": self[name],
                }
            )
        return [{**row, "is_chosen": row["key"] in chosen} for row in rows]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        do, chosen, days = (
            cleaned.get("do"),
            cleaned.get("chosen", []),
            cleaned.get("days"),
        )
        if do and not chosen:
            self.add_error(None, gettext("Choose the rows first."))
        if do == MOVE and days is None:
            self.add_error("days", gettext("By how many days?"))
        self.asks_before_overwriting()
        values: dict[str, Any] = {}
        for key, before in self.initial.items():
            # A field keeps its value if the request of an API client omits the field.
            is_ours = (
                key in self.changed_data
                or self.add_initial_prefix(key) not in self.data
            )
            if is_ours and key in cleaned and cleaned[key] != before:
                values[key if "." in key else f"{SEASON_PREFIX}.{key}"] = cleaned[key]
        if not self.errors and do == MOVE:
            self._move_dates(values, chosen, dt.timedelta(days=days or 0))
        if not self.errors and do == COPY:
            self._copy_phases(values, chosen, cleaned["into"])
        return {"values": values}

    def _move_dates(
        self, values: dict[str, Any], chosen: list[str], by: dt.timedelta
    ) -> None:
        for chosen_key in chosen:
            phase = self.phases.get(chosen_key)
            row, names = (
                (phase, list(Phase.SETTINGS)) if phase else (self.of, [chosen_key])
            )
            for name in names:
                key = f"{chosen_key if phase else SEASON_PREFIX}.{row.key(name)}"
                at = values.get(key, getattr(row, name))
                if isinstance(at, dt.datetime) and at < ENDLESS_TIME:
                    values[key] = at + by

    def _copy_phases(
        self, values: dict[str, Any], chosen: list[str], into: list[str]
    ) -> None:
        phases = [self.phases[key] for key in chosen if key in self.phases]
        if not into or not phases:
            self.add_error(
                "into", gettext("Choose phases, and the tasks that get them.")
            )
        tables = {
            phase_prefix(task["slug"], table["slug"]): table
            for task in season_file_structure(self.of)["tasks"]
            for table in task["phases"]
        }
        for phase in phases:
            source = phase_prefix(phase.task.slug, phase.slug)
            table = dict(tables[source])
            remove_uninherited_settings(Phase, table)
            del table["slug"]
            for slug in into:
                prefix = phase_prefix(slug, phase.slug)
                if prefix in tables:
                    message = gettext("%(task)s has a phase “%(phase)s” already.")
                    self.add_error(
                        "into", message % {"task": slug, "phase": phase.slug}
                    )
                values |= {
                    f"{prefix}.{key}": values.get(f"{source}.{key}", own)
                    for key, own in table.items()
                }


class FirstGoldForm(ActForm):
    """Gold files for all splits that have no gold yet. Empty fields can be filled
    later.
    """

    reason = forms.CharField(
        label=_("Reason"), max_length=500, initial=_("The first version.")
    )

    def __init__(self, data: Any = None, files: Any = None, *, of: Season) -> None:
        super().__init__(data, files, of=of)
        there = set(Gold.objects.filter(task__season=of).values_list("task", "split"))
        self.splits = {
            f"gold-{task.slug}-{split}": (task, split)
            for task, split in GoldForm(of=of).splits.values()
            if (task.pk, split) not in there and not task.is_reported_only
        }
        for name, (task, split) in self.splits.items():
            self.fields[name] = forms.FileField(
                label=f"{task}, {split}", required=False
            )
        self.order_fields([*self.splits, "reason"])

    def publish(self, by: User) -> int:
        """Publish the gold in all files or in none, and return the number of files.

        The method attaches the errors of an invalid file to the form field of the file.
        """
        ready = []
        for name in filter(self.cleaned_data.get, self.splits):
            facts = {
                "splits": [self.splits[name]],
                "file": self.cleaned_data[name],
                "again": False,
            }
            try:
                ready.append(
                    packed_gold(
                        self.of, {**facts, "reason": self.cleaned_data["reason"]}, by
                    )
                )
            except GoldRefused as refused:
                self.add_error(
                    name,
                    [str(problem) for problem in refused.problems[:MAX_PROBLEMS_SHOWN]],
                )
        if not ready and not self.errors:
            self.add_error(None, gettext("Choose the files that hold the gold."))
        if self.errors:
            return 0
        with transaction.atomic():
            for filled in ready:
                perform(PUBLISH_GOLD, self.of, by, filled, ActionConfirmation())
        return len(ready)


def _queue_all_baselines(*, season: Season, by: User) -> int:
    phases = [phase for phase in scored_phases(season) if Gold.objects.current(phase)]
    if not phases:
        raise ValidationError(gettext("No phase has gold yet."))
    asked = []
    for phase in phases:
        unavailable = baseline_runs.lacking(phase)
        names = [
            name
            for name in baseline_runs.baseline_names_for(phase)
            if name not in unavailable
        ]
        asked.append(
            baseline_runs.request_baselines(phase=phase, names=names[:1], by=by)
        )
    return sum(one.is_new for several in asked for one in several)


CALENDAR = replace(CHANGE_SETTINGS, form=CalendarForm, done=_("The calendar is saved."))
OPEN_SEASON = replace(
    CHANGE_SETTINGS,
    service=lambda season, by: (
        season.is_public
        or change_settings(
            season=season, values={f"{SEASON_PREFIX}.public": True}, by=by
        )
    ),
    done=_("The season is open to everybody."),
)
COMPUTE_FIRST = by_organisers(
    _queue_all_baselines,
    "Have a built-in baseline of every phase with gold computed and scored; for organisers.",
    _("%(baselines)s queued."),
    subject="season",
)
TEST_MAIL = by_organisers(
    send_test_mail,
    "Send a mail to the organiser who asks, to see whether the mail server takes it.",
    _("The mail server has accepted an e-mail to you."),
    subject="season",
)
