"""Write the verdict on a board, which names the leader, the systems that could be tied
with the leader, the worse systems, and the test.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.utils.translation import gettext as _, gettext_lazy, ngettext

from citeboard.core.words import count_with_noun, join_names, localize_separators
from scoring.results.board.comparisons import Separation, format_unit_count
from scoring.results.board.formatting import format_p_value

#: A sentence names at most MAX_SYSTEMS_NAMED_IN_VERDICT systems, and gives the number of other systems.
MAX_SYSTEMS_NAMED_IN_VERDICT = 3
PAIRED_TEST_NAME = "paired randomisation test"
#: On a board with means over seeds, SEED_MEAN_TEST_NAME is the name of the test.
SEED_MEAN_TEST_NAME = f"{PAIRED_TEST_NAME}; means over seeds by Student's t"


class UntestedReason(StrEnum):
    """The reason why a board ranks its rows without a significance test."""

    MEASURE = "measure"
    PROGRAM = "official-program"
    MONTHLY = "monthly-ranks"
    ONE_SYSTEM = "one-system"
    NOT_COMPARED = "not-compared"
    RESCORING = "rescoring"
    NOT_RESCORED = "not-rescored"


#: For these reasons, the verdict names no leader, because some systems have scores of another version.
REASONS_WITHOUT_LEADER = (UntestedReason.RESCORING, UntestedReason.NOT_RESCORED)


@dataclass(frozen=True, kw_only=True)
class RankedSystem:
    """A ranked row. ``p`` is the adjusted p-value that determines the rank, from the
    comparison with the leader or with another significantly better row. ``p`` is None
    for the leader, and if the p-value is hidden or undefined.
    """

    submission: int
    system: str
    team: str = ""
    may_be_first: bool = True
    p: float | None = None


@dataclass(frozen=True, kw_only=True)
class BoardVerdict:
    """The verdict on a board, which names the leader and all systems with a worse rank.

    ``leaders`` contains several systems only if all of them have the best value, and is
    empty if the scores of some systems were computed differently. If the board ranks
    its rows without a significance test, ``test`` is empty and ``untested`` is the
    reason.
    """

    systems: int
    leaders: tuple[RankedSystem, ...]
    tied: tuple[RankedSystem, ...] = ()
    behind: tuple[RankedSystem, ...] = ()
    test: str = ""
    untested: UntestedReason | None = None
    unit: str = ""
    units: int | None = None
    smallest_p: float | None = None

    @property
    def leader(self) -> RankedSystem | None:
        return self.leaders[0] if self.leaders else None

    @property
    def p(self) -> float | None:
        """Return the smallest p-value of systems that could be tied with the leader, or
        the largest p-value of the other systems if none could be tied.
        """
        tied = [*self.leaders[1:], *self.tied]
        own = [row.p for row in tied or self.behind if row.p is not None]
        return (min if tied else max)(own, default=None)

    @property
    def text(self) -> str:
        """Return the verdict on the board as text in the reader's language."""
        return " ".join(self.sentences)

    @property
    def sentences(self) -> list[str]:
        if self.untested in REASONS_WITHOUT_LEADER:
            return [str(_UNTESTED_SENTENCES[self.untested])]
        if self.untested is not None:
            return [self._leader_sentence, str(_UNTESTED_SENTENCES[self.untested])]
        if self.smallest_p is not None:
            return [self._leader_sentence, self._too_few_units_sentence]
        return [
            self._leader_sentence,
            *self._tied_sentences,
            *self._behind_sentences,
            self._test_sentence,
        ]

    @property
    def _unambiguous_names_by_submission(self) -> dict[int, str]:
        """Return a name for each system in the verdict, keyed by submission. If several
        systems have the same name, the name also contains the team.
        """
        rows = [*self.leaders, *self.tied, *self.behind]
        number = Counter(row.system for row in rows)
        return {
            row.submission: f"{row.system} ({row.team})"
            if number[row.system] > 1 and row.team
            else row.system
            for row in rows
        }

    def _list_system_names(self, rows: Sequence[RankedSystem]) -> str:
        names = [self._unambiguous_names_by_submission[row.submission] for row in rows]
        if len(names) <= MAX_SYSTEMS_NAMED_IN_VERDICT + 1:
            return join_names(names)
        return join_names(
            [
                *names[:MAX_SYSTEMS_NAMED_IN_VERDICT],
                count_with_noun(
                    len(names) - MAX_SYSTEMS_NAMED_IN_VERDICT, "other system"
                ),
            ]
        )

    @property
    def _leader_sentence(self) -> str:
        facts = {
            "systems": count_with_noun(self.systems, "ranked system"),
            "leaders": self._list_system_names(self.leaders),
        }
        if self.systems == 1:
            return _("%(leaders)s is the only ranked system.") % facts
        if self.test and not self.tied and len(self.leaders) == 1:
            return _("%(leaders)s is first of %(systems)s.") % facts
        words = ngettext(
            "%(leaders)s has the best value of %(systems)s.",
            "%(leaders)s share the best value of %(systems)s.",
            len(self.leaders),
        )
        return words % facts

    @property
    def _tied_sentences(self) -> list[str]:
        if not self.tied:
            return []
        words = ngettext(
            "%(names)s could be tied for first place%(p)s.",
            "%(names)s could be tied for first place%(p)s.",
            len(self.tied),
        )
        least = min((row.p for row in self.tied if row.p is not None), default=None)
        p = (
            _("adjusted p %(p)s")
            if len(self.tied) == 1
            else _("smallest adjusted p %(p)s")
        )
        return [
            words
            % {
                "names": self._list_system_names(self.tied),
                "p": _append_p_value_in_brackets(p, least),
            }
        ]

    @property
    def _behind_sentences(self) -> list[str]:
        if not self.behind:
            return []
        words = ngettext(
            "%(names)s is behind%(p)s.", "%(names)s are behind%(p)s.", len(self.behind)
        )
        most = max((row.p for row in self.behind if row.p is not None), default=None)
        p = (
            _("adjusted p %(p)s")
            if len(self.behind) == 1
            else _("largest adjusted p %(p)s")
        )
        return [
            words
            % {
                "names": self._list_system_names(self.behind),
                "p": _append_p_value_in_brackets(p, most),
            }
        ]

    @property
    def _test_sentence(self) -> str:
        if self.test == SEED_MEAN_TEST_NAME:
            return _(
                "Tested by paired randomisation over %(units)s, means over seeds by Student's t over units "
                "and seeds, with Holm's correction."
            ) % {"units": format_unit_count(self.units or 0, self.unit)}
        return _(
            "Tested by paired randomisation over %(units)s, with Holm's correction."
        ) % {"units": format_unit_count(self.units or 0, self.unit)}

    @property
    def _too_few_units_sentence(self) -> str:
        return _(
            "With %(units)s no test can find a difference between any two of them at 5 %%: "
            "the smallest possible adjusted p is %(p)s."
        ) % {
            "units": format_unit_count(self.units or 0, self.unit),
            "p": localize_separators(format_p_value(self.smallest_p or 0.0)),
        }


def _append_p_value_in_brackets(words: str, p: float | None) -> str:
    return (
        ""
        if p is None
        else f" ({words % {'p': localize_separators(format_p_value(p))}})"
    )


_UNTESTED_SENTENCES = {
    UntestedReason.MEASURE: gettext_lazy(
        "The board ranks without a test: its measure cannot compare two runs."
    ),
    UntestedReason.PROGRAM: gettext_lazy(
        "The board is ranked by the official program, not tested."
    ),
    UntestedReason.MONTHLY: gettext_lazy(
        "The board ranks without a test: its ranks are those of the month by the private part of the data."
    ),
    UntestedReason.ONE_SYSTEM: gettext_lazy("The board ranks without a test."),
    UntestedReason.NOT_COMPARED: gettext_lazy(
        "The board ranks without a test until all systems have been compared."
    ),
    UntestedReason.RESCORING: gettext_lazy(
        "Runs of this board are being rescored. The board names no leader until the numbers of all "
        "systems can be compared."
    ),
    UntestedReason.NOT_RESCORED: gettext_lazy(
        "Some runs of this board were scored differently from the others. The board names no leader until "
        "they have been rescored."
    ),
}


def decide_verdict_on_systems(
    systems: Sequence[RankedSystem],
    *,
    separation: Separation | None = None,
    untested: UntestedReason | None = None,
    equal_to_first: int = 1,
    has_means: bool = False,
) -> BoardVerdict | None:
    """Return the verdict on the ranked ``systems``, which are sorted best first, or
    None without ranked systems unless runs must be rescored.

    ``equal_to_first`` is the number of systems with the best value.
    """
    if untested in REASONS_WITHOUT_LEADER:
        return BoardVerdict(systems=len(systems), leaders=(), untested=untested)
    if not systems:
        return None
    leaders, others = tuple(systems[:equal_to_first]), systems[equal_to_first:]
    if len(systems) == 1:
        untested = untested or UntestedReason.ONE_SYSTEM
    elif separation is None:
        untested = untested or UntestedReason.NOT_COMPARED
    if untested is not None or separation is None:
        return BoardVerdict(systems=len(systems), leaders=leaders, untested=untested)
    return BoardVerdict(
        systems=len(systems),
        leaders=leaders,
        tied=tuple(row for row in others if row.may_be_first),
        behind=tuple(row for row in others if not row.may_be_first),
        test=SEED_MEAN_TEST_NAME if has_means else PAIRED_TEST_NAME,
        unit=separation.unit,
        units=separation.units,
        smallest_p=None if separation.can_differ else separation.smallest_corrected_p,
    )
