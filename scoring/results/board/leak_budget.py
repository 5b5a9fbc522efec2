"""Count how many bits of secret gold the scores of a phase reveal to a team at most."""

import datetime as dt
import math
from dataclasses import dataclass

from django.utils.translation import gettext as _

from citeboard.core.words import counted, thousands
from scoring.results.board import differences, visibility
from scoring.results.board.monthly_ranks import times_a_year
from scoring.stats.leakage import (
    A_YEAR,
    BITS_NEEDED,
    bits_by_ladder,
    bits_by_ranks,
    bits_told,
)
from tasks.gold.secrecy import secrecy_of
from tasks.models import Gold, Phase


@dataclass(frozen=True, kw_only=True)
class Budget:
    """``bits`` is an upper bound of what one team is told of the ``instances`` that are secret while runs are
    taken; None where tries have no limit. ``public`` are those of a public part, which count as lost, and
    ``beside`` is what other phases on the split tell by their tries, once their scores are shown. Of the
    ``teams`` that are registered some may put together what each is told.
    """

    tries: int | None
    numbers: int
    has_classes: bool
    instances: int
    public: int
    bits: float | None
    beside: float | None
    teams: int

    @property
    def needed(self) -> float:
        return BITS_NEEDED * self.instances

    @property
    def by_team(self) -> float | None:
        return (
            None
            if self.bits is None or self.beside is None
            else self.bits + self.beside
        )

    @property
    def is_too_much(self) -> bool:
        return self.by_team is None or self.by_team > self.needed

    @property
    def together(self) -> str:
        """What the registered teams are told by their scores together; empty where one is told too much."""
        if self.is_too_much or not self.by_team or self.teams < 2:
            return ""
        enough = math.floor(self.needed / self.by_team) + 1
        words = {
            "teams": counted(self.teams, "team"),
            "bits": thousands(math.ceil(self.teams * self.by_team)),
            "needed": thousands(round(self.needed)),
            "enough": enough,
        }
        line = _(
            "The %(teams)s that are registered are told at most %(bits)s bits together."
        )
        if enough <= self.teams:
            line += " " + _(
                "%(enough)s of them together reach the %(needed)s bits by which made-up answers can find out "
                "5 %% of the instances."
            )
        return line % words

    @property
    def warns(self) -> bool:
        """Of one team, or of those that are registered together."""
        return self.is_too_much or self.teams * (self.by_team or 0) > self.needed

    @property
    def sentences(self) -> list[str]:
        words = {
            "tries": _("any number of tries")
            if self.tries is None
            else counted(self.tries, "try", "tries"),
            "numbers": counted(self.numbers, "number"),
            "instances": thousands(self.instances),
            "needed": thousands(round(self.needed)),
            "public": thousands(self.public),
            "bits": "" if self.bits is None else thousands(math.ceil(self.bits)),
            "beside": "" if self.beside is None else thousands(math.ceil(self.beside)),
        }
        lines = [
            _(
                "A team has %(tries)s until the end, or within a year, and sees %(numbers)s of each run."
            )
        ]
        if not self.has_classes:
            lines.append(
                _("How many there are by class is known once a run has been scored.")
            )
        if self.bits is None:
            lines.append(_("That can tell all of the %(instances)s secret instances."))
        else:
            lines.append(
                _(
                    "That tells at most %(bits)s bits of the %(instances)s secret instances."
                )
            )
        if self.beside is None:
            lines.append(
                _(
                    "Other phases on this split can tell all of them, once their scores are shown."
                )
            )
        elif self.beside:
            lines.append(
                _(
                    "Other phases on this split tell up to %(beside)s bits more, once their scores are shown."
                )
            )
        if self.public:
            lines.append(
                _("The %(public)s instances of the public part count as known.")
            )
        if self.is_too_much:
            lines.append(
                _(
                    "From about %(needed)s bits on made-up answers can find out 5 %% of them. A public part "
                    "or the Ladder makes it less, as fewer tries do."
                )
            )
        return [*(line % words for line in lines), *filter(None, [self.together])]


def budget_of(phase: Phase) -> Budget | None:
    """None where nothing is secret: without gold, where instances are shown, where teams see no scores."""
    gold = Gold.objects.current(phase)
    if gold is None or phase.shows_instances or not phase.shows_scores:
        return None
    tries, sizes, teams = (
        _tries(phase),
        _sizes(phase, gold),
        phase.task.season.registrations.count(),
    )
    public = gold.instances * (phase.public_part or 0) // 100
    bits: float | None = None
    if public:
        # Of the private part nothing but ranks is told until the end.
        bits = bits_by_ranks(times_a_year(phase), teams + 1)
    elif tries is not None:
        bits = (
            bits_by_ladder(tries, gold.instances)
            if phase.ladder
            else bits_told(tries, sizes)
        )
    return Budget(
        tries=tries,
        numbers=1 if phase.ladder else len(sizes),
        has_classes=phase.ladder or phase.evaluations.filter(gold=gold).exists(),
        instances=gold.instances - public,
        public=public,
        bits=bits,
        beside=_told_beside(phase, gold),
        teams=teams,
    )


def _told_beside(phase: Phase, gold: Gold) -> float | None:
    told = 0.0
    for other in secrecy_of(phase).beside.phases:
        if other.public_part or other.ladder:
            continue
        tries = _tries(other)
        if tries is None or other.shows_instances:
            return None
        told += bits_told(tries, _sizes(other, gold))
    return told


def _tries(phase: Phase) -> int | None:
    days = min(
        A_YEAR, max(1, (phase.takes_runs_until - phase.opens) / dt.timedelta(days=1))
    )
    limits = [
        phase.runs_in_total,
        phase.runs_per_day and int(phase.runs_per_day * days),
    ]
    return min((limit for limit in limits if limit is not None), default=None)


def _sizes(phase: Phase, gold: Gold) -> list[int]:
    """Over how many instances each number is that a team sees of a run, by the newest one that was scored."""
    kind = phase.task.task_type
    options = kind.checked_options(phase.task.options)
    sizes = [
        gold.instances
        for rules in phase.task.rules
        for _metric in kind.metrics_of(rules, options)
    ]
    newest = phase.evaluations.filter(gold=gold, withheld="").order_by("-pk").first()
    if newest is not None:
        hidden = differences.hidden_classes(
            [newest.pk], phase, visibility.Audience.TEAM
        )
        for row in newest.breakdowns.select_related("classes"):
            for label, numbers in row.by_class().items():
                if label not in hidden.get(row.classes.dimension, ()):
                    sizes += [number.n for number in numbers.values()] * len(
                        phase.task.rules
                    )
    return sizes
