"""Actions before the start of a season, which set all dates and upload all gold."""

import datetime as dt
from dataclasses import replace
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext, gettext_lazy as _

from citeboard.acts.declared import (
    ActForm,
    DateTimeTextField,
    PhaseEndField,
    build_organiser_action,
)
from citeboard.acts.gold import PUBLISH_GOLD, GoldForm, parse_submitted_gold
from citeboard.acts.overwriting import OverwritingForm
from citeboard.acts.rehearsal import ActionConfirmation, perform_confirmed_action
from citeboard.acts.season_settings import CHANGE_SEASON_SETTINGS
from citeboard.core.instants import ENDLESS_PHASE_END
from citeboard.ops.launching import find_phases_to_score, send_test_mail
from citeboard.teams.models import User
from scoring.worker import baseline_runs
from scoring.worker.rescoring import GoldFileRefused
from tasks.models import Gold, Phase, Season, Task
from tasks.models.seasons import SEASON_DATE_FIELDS
from tasks.seasons.file.entries import SEASON_KEY_PREFIX, make_phase_key_prefix
from tasks.seasons.file.export import build_season_file_structure
from tasks.seasons.file.load import change_settings
from tasks.seasons.presets import MAX_POSTPONED_DAYS, remove_uninherited_settings
from tasks.seasons.timeline import build_time_line_context

MOVE_DATES_OPTION, COPY = "move", "copy"
#: The page before the start shows at most MAX_PROBLEMS_SHOWN errors of each gold file.
MAX_PROBLEMS_SHOWN = 5


class CalendarForm(ActForm, OverwritingForm):
    """The dates of a season and its phases, by their keys in the season file. The
    chosen dates are moved or copied.

    The form saves only the dates that the user has changed.
    """

    do = forms.ChoiceField(
        choices=[(MOVE_DATES_OPTION, MOVE_DATES_OPTION), (COPY, COPY)], required=False
    )
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
        self.line = build_time_line_context(of)
        self.phases: dict[str, Phase] = {
            make_phase_key_prefix(row["task"].slug, row["phase"].slug): row["phase"]
            for row in self.line["lines"]
        }
        for name in SEASON_DATE_FIELDS:
            self._add_moment_field(
                name, Season.get_date_field_label(name), getattr(of, name), of
            )
        for key, phase in self.phases.items():
            for name, words, at in (
                ("opens", gettext("Opens"), phase.opens),
                ("closes", gettext("Closes"), phase.end),
            ):
                self._add_moment_field(
                    f"{key}.{name}", f"{words}, {phase.task}, {phase}", at, phase
                )
        keys = [(key, key) for key in (*SEASON_DATE_FIELDS, *self.phases)]
        self.fields["chosen"].choices = keys  # type: ignore[attr-defined]
        tasks = Task.objects.filter(season=of, is_reported_only=False)
        self.fields["into"].choices = [(task.slug, str(task)) for task in tasks]  # type: ignore[attr-defined]

    def _add_moment_field(
        self, key: str, label: str, at: dt.datetime | None, of: Season | Phase
    ) -> None:
        kind = PhaseEndField if key.endswith(".closes") else DateTimeTextField
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
        for name in SEASON_DATE_FIELDS:
            label = Season.get_date_field_label(name)
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
        if do == MOVE_DATES_OPTION and days is None:
            self.add_error("days", gettext("By how many days?"))
        self.has_concurrent_edits()
        values: dict[str, Any] = {}
        for key, before in self.initial.items():
            # A field keeps its value if the request of an API client omits the field.
            is_ours = (
                key in self.changed_data
                or self.add_initial_prefix(key) not in self.data
            )
            if is_ours and key in cleaned and cleaned[key] != before:
                values[key if "." in key else f"{SEASON_KEY_PREFIX}.{key}"] = cleaned[
                    key
                ]
        if not self.errors and do == MOVE_DATES_OPTION:
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
                key = f"{chosen_key if phase else SEASON_KEY_PREFIX}.{row.key(name)}"
                at = values.get(key, getattr(row, name))
                if isinstance(at, dt.datetime) and at < ENDLESS_PHASE_END:
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
            make_phase_key_prefix(task["slug"], table["slug"]): table
            for task in build_season_file_structure(self.of)["tasks"]
            for table in task["phases"]
        }
        for phase in phases:
            source = make_phase_key_prefix(phase.task.slug, phase.slug)
            table = dict(tables[source])
            remove_uninherited_settings(Phase, table)
            del table["slug"]
            for slug in into:
                prefix = make_phase_key_prefix(slug, phase.slug)
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

    def publish_uploaded_gold(self, by: User) -> int:
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
                    parse_submitted_gold(
                        self.of, {**facts, "reason": self.cleaned_data["reason"]}, by
                    )
                )
            except GoldFileRefused as refused:
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
                perform_confirmed_action(
                    PUBLISH_GOLD, self.of, by, filled, ActionConfirmation()
                )
        return len(ready)


def _queue_all_baselines(*, season: Season, by: User) -> int:
    phases = [
        phase for phase in find_phases_to_score(season) if Gold.objects.current(phase)
    ]
    if not phases:
        raise ValidationError(gettext("No phase has gold yet."))
    asked = []
    for phase in phases:
        unavailable = baseline_runs.find_baselines_lacking_requirements(phase)
        names = [
            name
            for name in baseline_runs.list_baseline_names(phase)
            if name not in unavailable
        ]
        asked.append(
            baseline_runs.request_baselines(phase=phase, names=names[:1], by=by)
        )
    return sum(one.is_new for several in asked for one in several)


CHANGE_CALENDAR = replace(
    CHANGE_SEASON_SETTINGS, form=CalendarForm, done=_("The calendar is saved.")
)
PUBLISH_SEASON = replace(
    CHANGE_SEASON_SETTINGS,
    service=lambda season, by: (
        season.is_public
        or change_settings(
            season=season, values={f"{SEASON_KEY_PREFIX}.public": True}, by=by
        )
    ),
    done=_("The season is open to everybody."),
)
COMPUTE_FIRST_BASELINES = build_organiser_action(
    _queue_all_baselines,
    "Have a built-in baseline of every phase with gold computed and scored; for organisers.",
    _("%(baselines)s queued."),
    subject="season",
)
SEND_TEST_MAIL = build_organiser_action(
    send_test_mail,
    "Send a mail to the organiser who asks, to see whether the mail server takes it.",
    _("The mail server has accepted an e-mail to you."),
    subject="season",
)
