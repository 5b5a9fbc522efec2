import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from django.utils import timezone
from django.utils.dateformat import format as date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _, pgettext

from tasks.models import Phase, Season
from tasks.seasons.phase_acts import find_planned_ends_of_closed_phases

#: Dates more than MAX_DISTANCE_FROM_NOW away are cut off, or endless phases would fill the scale.
MAX_DISTANCE_FROM_NOW = dt.timedelta(days=400)
#: Marks are at least MIN_MARK_DISTANCE_PERCENT per cent apart, so that labels do not overlap.
MIN_MARK_DISTANCE_PERCENT = 12
#: Marks are DAYS_BETWEEN_MARKS days or MONTHS_BETWEEN_MARKS months apart, with at most MAX_SCALE_MARKS marks.
DAYS_BETWEEN_MARKS, MONTHS_BETWEEN_MARKS = (1, 2, 7, 14), (1, 2, 3, 6, 12)
MAX_SCALE_MARKS = 4
#: The time scale is compressed if one phase is MIN_LENGTH_RATIO_FOR_COMPRESSION times longer than another.
#: On a compressed time scale, a length is drawn as its COMPRESSION_EXPONENT-th power.
MIN_LENGTH_RATIO_FOR_COMPRESSION, COMPRESSION_EXPONENT = 20, 1 / 3
MAX_MARK_POSITION_PERCENT = (
    88  # per cent from the left, so that the label of the last mark fits
)


@dataclass(frozen=True)
class ScaleMark:
    at: float
    label: str


@dataclass(frozen=True)
class TimeLine:
    start: dt.datetime
    end: dt.datetime
    now: dt.datetime
    edges: tuple[dt.datetime, ...] = ()

    @classmethod
    def from_phases(
        cls,
        phases: Sequence[Phase],
        now: dt.datetime,
        dates: Sequence[dt.datetime] = (),
    ) -> "TimeLine | None":
        if not phases and not dates:
            return None
        start = max(
            min([*dates, *(phase.opens for phase in phases)]),
            now - MAX_DISTANCE_FROM_NOW,
        )
        end = min(
            max([*dates, *(phase.closes for phase in phases)]),
            now + MAX_DISTANCE_FROM_NOW,
        )
        start, end = min(start, now, end), max(start, now, end)
        margin = max((end - start) / 50, dt.timedelta(hours=6))
        start, end = start - margin, end + margin
        lengths = [min(phase.closes, end) - max(phase.opens, start) for phase in phases]
        drawn = [length for length in lengths if length > dt.timedelta()]
        is_uneven = bool(drawn) and max(drawn) > MIN_LENGTH_RATIO_FOR_COMPRESSION * min(
            drawn
        )
        inner = {
            at
            for phase in phases
            for at in (phase.opens, phase.closes)
            if start < at < end
        }
        return cls(start, end, now, tuple(sorted(inner)) if is_uneven else ())

    @property
    def is_linear(self) -> bool:
        return not self.edges

    def place(self, at: dt.datetime) -> float:
        share = self._compute_scaled_length(
            self.start, at
        ) / self._compute_scaled_length(self.start, self.end)
        return round(100 * min(1.0, max(0.0, share)), 2)

    def _compute_scaled_length(self, start: dt.datetime, end: dt.datetime) -> float:
        if self.is_linear:
            return (end - start).total_seconds()
        stops = [self.start, *self.edges, self.end]
        width = 0.0
        for first, last in pairwise(stops):
            drawn = (last - first).total_seconds() ** COMPRESSION_EXPONENT
            width += drawn * min(1.0, max(0.0, (end - first) / (last - first)))
        return width

    @property
    def marks(self) -> list[ScaleMark]:
        span = (self.end - self.start).days
        days = next(
            (day for day in DAYS_BETWEEN_MARKS if span / day <= MAX_SCALE_MARKS), None
        )
        months = next(
            (
                month
                for month in MONTHS_BETWEEN_MARKS
                if span / (month * 30) <= MAX_SCALE_MARKS
            ),
            MONTHS_BETWEEN_MARKS[-1],
        )
        start = self.start.astimezone(dt.UTC)
        if days:
            midnight = start.replace(hour=0, minute=0, second=0, microsecond=0)
            dates = [
                midnight + dt.timedelta(days=day) for day in range(days, span + 2, days)
            ]
        else:
            first = start.year * 12 + start.month
            dates = [
                dt.datetime(month // 12, month % 12 + 1, 1, tzinfo=dt.UTC)
                for month in range(first, first + 60)
                if month % months == 0
            ]
        marks: list[ScaleMark] = []
        for at in dates:
            place = self.place(at)
            is_apart = not marks or place - marks[-1].at >= MIN_MARK_DISTANCE_PERCENT
            if (
                self.start < at < self.end
                and place <= MAX_MARK_POSITION_PERCENT
                and is_apart
            ):
                marks.append(
                    ScaleMark(place, date_format(at, _("j M") if days else _("M Y")))
                )
        return marks

    def bar(self, phase: Phase) -> SafeString:
        left, right, now = (
            self.place(phase.opens),
            self.place(phase.closes),
            self.place(self.now),
        )
        state = (
            "open"
            if phase.is_open(self.now)
            else "ahead"
            if self.now < phase.opens
            else "over"
        )
        said = {
            "open": _("open now"),
            "ahead": _("not open yet"),
            "over": pgettext("phase", "over"),
        }[state]
        return format_html(
            '<svg class="phase-bar {}" width="100%" height="22" role="img" aria-label="{}">'
            '<rect x="{}%" y="6" width="{}%" height="10" rx="2"/>'
            '<line class="now" x1="{}%" x2="{}%" y1="0" y2="22"/></svg>',
            state,
            f"{phase.title}: {said}",
            left,
            max(0.5, round(right - left, 2)),
            now,
            now,
        )

    def point(self, at: dt.datetime, words: str) -> SafeString:
        place, now = self.place(at), self.place(self.now)
        return format_html(
            '<svg class="phase-bar point {}" width="100%" height="22" role="img" aria-label="{}">'
            '<circle cx="{}%" cy="11" r="5"/><line class="now" x1="{}%" x2="{}%" y1="0" y2="22"/></svg>',
            "ahead" if self.now < at else "over",
            words,
            place,
            now,
            now,
        )

    @property
    def scale(self) -> SafeString:
        parts = [
            format_html('<text x="{}%" y="12">{}</text>', mark.at, mark.label)
            for mark in self.marks
        ]
        now = self.place(self.now)
        anchor = "end" if now > 50 else "start"
        text = '<text class="now" x="{}%" y="30" text-anchor="{}">{}</text>'
        parts.append(format_html(text, now, anchor, pgettext("timeline", "now")))
        inner = SafeString("".join(parts))
        return format_html(
            '<svg class="phase-scale" width="100%" height="34" aria-hidden="true">{}</svg>',
            inner,
        )


def build_time_line_context(season: Season) -> dict[str, Any]:
    """Return the table of a season's phases and dates, with bars and points on a common
    time scale.
    """
    at = timezone.now()
    rows = Phase.objects.filter(task__season=season).select_related("task__season")
    ordered = list(rows.order_by("task__position", "task_id", "position", "opens"))
    line, planned = (
        TimeLine.from_phases(ordered, at, list(season.dates.values())),
        find_planned_ends_of_closed_phases(ordered),
    )
    lines = [
        {
            "phase": phase,
            "task": phase.task,
            "bar": line.bar(phase) if line else "",
            "is_open": phase.is_open(at),
            "is_ahead": at < phase.opens,
            "opens_until": planned.get(phase.pk),
        }
        for phase in ordered
    ]
    labels = [
        (Season.get_date_field_label(name), day) for name, day in season.dates.items()
    ]
    dates = [
        {
            "label": label,
            "at": day,
            "bar": line.point(day, label) if line else "",
            "is_ahead": at < day,
        }
        for label, day in labels
    ]
    scale, is_uneven = (line.scale, not line.is_linear) if line else ("", False)
    return {"lines": lines, "dates": dates, "scale": scale, "is_uneven": is_uneven}
