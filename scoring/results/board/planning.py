"""Estimate from existing runs how likely test sets of other sizes are to detect
differences.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django import forms
from django.utils.translation import gettext as _, gettext_lazy

from citeboard.core.words import format_thousands
from scoring.figures import Axis, FigureValue, PointSeries, ScatterPlot, ScatterPoint
from scoring.results.board import formatting, visibility
from scoring.results.board.comparisons import (
    StatisticalPowerOnGold,
    estimate_power_on_gold,
    format_unit_count,
)
from scoring.stats.significance import DETECTION_POWER, compute_needed_units, power
from tasks.models import Gold, Phase, Season

TEST_SET_SIZES = (
    6,
    8,
    10,
    15,
    20,
    30,
    50,
    75,
    100,
    150,
    200,
    300,
    500,
    750,
    1000,
    2000,
    5000,
)
MAX_PLANNED_DIFFERENCES, MAX_PLANNED_SYSTEMS, MAX_SELECTABLE_BOARDS = 4, 200, 50
#: The default differences are the shares in DEFAULT_DIFFERENCE_SHARES of the metric's range.
DEFAULT_DIFFERENCE_SHARES = (0.01, 0.02, 0.05)


class TestSetPlanForm(forms.Form):
    source = forms.ChoiceField(
        label=gettext_lazy("Runs to learn from"),
        help_text=gettext_lazy(
            "Pilot runs or baselines on gold of this season, or a board that is public."
        ),
    )
    effects = forms.CharField(
        label=gettext_lazy("Differences to be found"),
        required=False,
        max_length=80,
        help_text=gettext_lazy(
            "In the ranking metric, at most four, with spaces between: 0.01 0.02 0.05"
        ),
    )
    systems = forms.IntegerField(
        label=gettext_lazy("Systems that are compared"),
        required=False,
        min_value=2,
        max_value=MAX_PLANNED_SYSTEMS,
        help_text=gettext_lazy(
            "The p-values of a row are corrected for all others, as on a board."
        ),
    )

    def __init__(self, season: Season, *args: Any) -> None:
        super().__init__(*args)
        newest: dict[tuple[int, str], Gold] = {}
        for gold in (
            Gold.objects.filter(task__season=season)
            .select_related("task")
            .order_by("number")
        ):
            newest[gold.task_id, gold.split] = gold
        boards = Phase.objects.filter(
            task__season__is_public=True, task__is_reported_only=False
        )
        boards = (
            boards.exclude(task__season=season)
            .select_related("task__season")
            .order_by("-closes")
        )
        self.boards = {
            f"board-{one.pk}": one
            for one in boards[:MAX_SELECTABLE_BOARDS]
            if visibility.is_current_board_public(one)
        }
        self.golds = {f"gold-{one.pk}": one for one in newest.values()}
        named = {
            key: f"{gold.task.title}, {gold.split}" for key, gold in self.golds.items()
        }
        for key, one in self.boards.items():
            named[key] = f"{one.task.season.title}: {one.task.title}, {one.title}"
        self.fields["source"].choices = list(named.items())  # type: ignore[attr-defined]

    def clean_effects(self) -> list[float]:
        try:
            effects = [float(word) for word in self.cleaned_data["effects"].split()]
        except ValueError as found:
            raise forms.ValidationError(
                _("These are no numbers with spaces between.")
            ) from found
        if len(effects) > MAX_PLANNED_DIFFERENCES or not all(
            0 < effect < math.inf for effect in effects
        ):
            raise forms.ValidationError(
                _("Give at most four differences, each above 0.")
            )
        return sorted(set(effects))

    def build_test_set_plan(self) -> "TestSetPlan | None":
        """Return the plan for the size of a test set, or None if fewer than two runs
        are available for an estimate.
        """
        given = self.cleaned_data
        phase = self.boards.get(given["source"])
        gold = Gold.objects.current(phase) if phase else self.golds[given["source"]]
        known = estimate_power_on_gold(gold, phase) if gold else None
        if known is None:
            return None
        effects = given["effects"] or [
            share * (known.scale or known.largest)
            for share in DEFAULT_DIFFERENCE_SHARES
        ]
        return TestSetPlan(known=known, effects=effects, systems=given["systems"] or 2)


@dataclass(frozen=True, kw_only=True)
class TestSetPlan:
    known: StatisticalPowerOnGold
    effects: list[float]
    systems: int

    @cached_property
    def heads(self) -> list[str]:
        return [
            formatting.format_score(effect, self.known.scale) for effect in self.effects
        ]

    @cached_property
    def power_by_test_set_size(self) -> list[tuple[int, list[float]]]:
        """Return the power to detect each difference between two runs, for each size of
        the test set.
        """
        known, others = self.known, self.systems - 1

        def power_at_size(effect: float, size: int) -> float:
            return power(
                effect, known.error, known.units, at_units=size, comparisons=others
            )

        sizes = sorted({*TEST_SET_SIZES, known.units})
        return [
            (size, [power_at_size(effect, size) for effect in self.effects])
            for size in sizes
        ]

    @property
    def rows(self) -> list[tuple[str, list[str]]]:
        return [
            (
                format_unit_count(size, self.known.unit),
                [f"{100 * chance:.0f}\u00a0%" for chance in own],
            )
            for size, own in self.power_by_test_set_size
        ]

    @property
    def needed(self) -> list[str]:
        """Return the number of units that detect each difference with the usual power."""
        known, others = self.known, self.systems - 1
        found = (
            compute_needed_units(own, known.error, known.units, comparisons=others)
            for own in self.effects
        )
        return [format_thousands(units) if units else "–" for units in found]

    @property
    def figure(self) -> ScatterPlot:
        def point(size: int, chance: float, name: str = "") -> ScatterPoint:
            return ScatterPoint(
                name=name, x=FigureValue(value=size), y=FigureValue(value=100 * chance)
            )

        def series(place: int) -> list[ScatterPoint]:
            return [
                point(size, own[place], format_unit_count(size, self.known.unit))
                for size, own in self.power_by_test_set_size
            ]

        usual = [
            point(size, DETECTION_POWER)
            for size, _own in (
                self.power_by_test_set_size[0],
                self.power_by_test_set_size[-1],
            )
        ]
        return ScatterPlot(
            title=_("Chance that a difference is found, by the size of the test set"),
            series=[
                *(
                    PointSeries(name=head, points=series(place), has_line=True)
                    for place, head in enumerate(self.heads)
                ),
                PointSeries(
                    name=f"{DETECTION_POWER:.0%}",
                    points=usual,
                    has_points=False,
                    is_reference=True,
                ),
            ],
            x=Axis(title=_("Units of the test set"), kind="log", decimals=0),
            y=Axis(
                title=_("Chance in %"), bounds=(0.0, 100.0), has_zero=True, decimals=0
            ),
        )
