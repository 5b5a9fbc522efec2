"""Compute the leak budget of a phase, which is the number of bits of secret gold that a
team can learn from all phases with the same content.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.db.models import Count
from django.utils.timezone import now
from django.utils.translation import gettext as _

from citeboard.core.words import count_with_noun, format_thousands, join_names
from scoring.models import Evaluation
from scoring.results.board.budget_items import (
    ASSUMED_COLLUDING_TEAM_COUNT,
    LeakBudgetItem,
    LeakBudgetItemKind,
    LeakBudgetScope,
    find_max_runs_per_team,
    format_bits,
    iterate_budget_items,
    multiply_bits_by_team_count,
    sum_bits_of_items,
)
from scoring.results.board.same_content import (
    PhaseRevealingSecretContent,
    find_leak_sources_by_phase,
    find_source_with_known_public_part,
    have_same_public_part,
)
from scoring.stats.leakage import DANGEROUS_BITS_PER_INSTANCE
from tasks.gold.secrecy import load_phases_with_embargoes
from tasks.models import Phase, Registration


@dataclass(frozen=True, kw_only=True)
class LeakBudget:
    """The bits of secret gold that the scores of a phase reveal while the phase accepts
    runs.

    ``items`` includes the information that other phases with the same content reveal.
    ``public`` is the number of instances in a public part, which teams are assumed to
    know. ``teams`` is the number of teams that are registered for the season.
    ``unequal`` contains the phases whose public part includes private instances of this
    phase.
    """

    phase: Phase
    items: tuple[LeakBudgetItem, ...]
    tries: int | None
    has_classes: bool
    instances: int
    public: int
    teams: int
    unequal: tuple[Phase, ...] = ()

    @property
    def needed(self) -> float:
        return DANGEROUS_BITS_PER_INSTANCE * self.instances

    @property
    def own(self) -> list[LeakBudgetItem]:
        return [item for item in self.items if item.phase.pk == self.phase.pk]

    @property
    def bits(self) -> float | None:
        return sum_bits_of_items(self.own)

    @property
    def bits_of_other_phases(self) -> float | None:
        return sum_bits_of_items(
            item for item in self.items if item.phase.pk != self.phase.pk
        )

    @property
    def bits_for_one_team(self) -> float | None:
        return sum_bits_of_items(self.items)

    @property
    def bits_for_colluding_teams(self) -> float | None:
        return multiply_bits_by_team_count(
            self.bits_for_one_team, ASSUMED_COLLUDING_TEAM_COUNT
        )

    @property
    def is_phase_not_over(self) -> bool:
        """Return True if the phase accepts runs now or will accept runs."""
        return self.phase.accepts_runs_until > now()

    @property
    def is_exceeded_by_one_team(self) -> bool:
        return self.bits_for_one_team is None or self.bits_for_one_team > self.needed

    @property
    def is_exceeded_by_colluding_teams(self) -> bool:
        return (
            self.bits_for_colluding_teams is None
            or self.bits_for_colluding_teams > self.needed
        )

    @property
    def bits_text_for_one_team(self) -> str:
        return format_bits(self.bits_for_one_team)

    @property
    def bits_text_for_colluding_teams(self) -> str:
        return format_bits(self.bits_for_colluding_teams)

    @property
    def limit(self) -> str:
        return format_thousands(round(self.needed))

    @property
    def all_teams_sentence(self) -> str:
        """Return a text on the bits that all registered teams together can learn, or an
        empty text if already one team can learn too much.
        """
        if self.is_exceeded_by_one_team or not self.bits_for_one_team or self.teams < 2:
            return ""
        enough = math.floor(self.needed / self.bits_for_one_team) + 1
        words = {
            "teams": count_with_noun(self.teams, "team"),
            "bits": format_thousands(math.ceil(self.teams * self.bits_for_one_team)),
            "needed": self.limit,
            "enough": enough,
        }
        line = _(
            "The %(teams)s that are registered learn at most %(bits)s bits together."
        )
        if enough <= self.teams:
            line += " " + _(
                "%(enough)s of them together reach the %(needed)s bits by which made-up answers can find out "
                "5 %% of the instances."
            )
        return line % words

    @property
    def warns(self) -> bool:
        """Return True if one team, colluding teams or all teams can learn too much
        gold, or if public parts of phases differ.
        """
        are_told_too_much = self.teams * (self.bits_for_one_team or 0) > self.needed
        return (
            self.is_exceeded_by_colluding_teams
            or are_told_too_much
            or bool(self.unequal)
        )

    @property
    def sentences(self) -> list[str]:
        words = {
            "tries": _("any number of tries")
            if self.tries is None
            else count_with_noun(self.tries, "try", "tries"),
            "numbers": count_with_noun(sum(self._score_counts_per_run), "number"),
            "instances": format_thousands(self.instances),
            "needed": self.limit,
            "public": format_thousands(self.public),
            "bits": format_bits(self.bits),
            "beside": format_bits(self.bits_of_other_phases),
            "colluding": ASSUMED_COLLUDING_TEAM_COUNT,
            "unequal": join_names([f"{phase.task}, {phase}" for phase in self.unequal]),
        }
        lines = [*self._sentences_on_phase, *self._sentences_on_other_phases]
        if self.public:
            lines.append(
                _("The %(public)s instances of the public part count as known.")
            )
        if self.is_exceeded_by_one_team:
            lines.append(
                _(
                    "From about %(needed)s bits on made-up answers can find out 5 %% of them. A public part "
                    "or the Ladder makes it less, as fewer tries do."
                )
            )
        if self.is_exceeded_by_colluding_teams:
            lines.append(
                _(
                    "%(colluding)s teams that collude exceed the budget of %(needed)s bits. What is set "
                    "stays; changes that add to the sum of several phases are refused."
                )
            )
        if self.unequal:
            lines.append(
                _(
                    "Another public part of the same instances is drawn in %(unequal)s: its scores tell of "
                    "instances that are private here. Give both the same share and seed."
                )
            )
        return [
            *(line % words for line in lines),
            *filter(None, [self.all_teams_sentence]),
        ]

    @property
    def _score_counts_per_run(self) -> list[int]:
        """Return the numbers of scores that a team sees for each of its runs while the
        phase is open.
        """
        kinds = (
            LeakBudgetItemKind.SCORES,
            LeakBudgetItemKind.LADDER,
            LeakBudgetItemKind.PUBLIC,
        )
        return [item.numbers for item in self.own if item.kind in kinds]

    @property
    def _sentences_on_phase(self) -> Iterator[str]:
        if not self.own:
            yield _("A team sees no score of this phase.")
            return
        if self._score_counts_per_run:
            yield _(
                "A team has %(tries)s until the end, or within a year, and sees %(numbers)s of each run."
            )
            if not self.has_classes:
                yield _(
                    "How many there are by class is known once a run has been scored."
                )
        if self.bits is None:
            yield _("That can tell all of the %(instances)s secret instances.")
        else:
            yield _(
                "That tells at most %(bits)s bits of the %(instances)s secret instances."
            )

    @property
    def _sentences_on_other_phases(self) -> Iterator[str]:
        if self.bits_of_other_phases is None:
            yield _(
                "Other phases on this content can tell all of them, once their scores are shown."
            )
        elif self.bits_of_other_phases:
            yield _(
                "Other phases on this content tell up to %(beside)s bits more, once their scores are shown."
            )


def compute_leak_budget_of_phase(phase: Phase) -> LeakBudget | None:
    """Return the leak budget of a phase (the bits of secret gold that scores reveal).
    The leak budget is None if the phase has no gold, shows instances or shows no
    scores.
    """
    return compute_leak_budgets_by_phase([phase]).get(phase.pk)


def compute_leak_budgets_by_phase(phases: Iterable[Phase]) -> dict[int, LeakBudget]:
    sources = find_leak_sources_by_phase(load_phases_with_embargoes(phases))
    seasons = {one.phase.task.season_id for found in sources.values() for one in found}
    registered = Registration.objects.filter(season__in=seasons).order_by()
    counts = registered.values_list("season").annotate(teams=Count("pk"))
    teams = dict.fromkeys(seasons, 0) | dict(counts)
    budgets = {}
    class_sizes: dict[int, list[int]] = {}
    for pk, found in sources.items():
        if found[0].phase.shows_instances:
            continue
        view = LeakBudgetScope(
            own=found[0],
            part=find_source_with_known_public_part(found),
            teams=teams,
            class_sizes=class_sizes,
        )
        budget = _sum_up_leak_budget(view, found)
        if budget.items or budget.unequal:
            budgets[pk] = budget
    return budgets


def _sum_up_leak_budget(
    view: LeakBudgetScope, sources: list[PhaseRevealingSecretContent]
) -> LeakBudget:
    """Add up the budget items of all sources, of which the first is the phase whose
    budget is computed.
    """
    own = view.own
    items = [item for source in sources for item in iterate_budget_items(source, view)]
    phase, at = own.phase, now()
    unequal = [
        one.phase
        for one in sources[1:]
        if phase.public_part
        and one.phase.public_part
        and not one.is_foreign
        and min(phase.accepts_runs_until, one.phase.accepts_runs_until) > at
        and not have_same_public_part(own, one)
    ]
    return LeakBudget(
        phase=phase,
        items=tuple(items),
        tries=find_max_runs_per_team(phase),
        has_classes=phase.ladder or Evaluation.objects.filter(gold=own.gold).exists(),
        instances=view.secret,
        public=own.gold.instances - view.secret,
        teams=view.teams[phase.task.season_id],
        unequal=tuple(unequal),
    )
