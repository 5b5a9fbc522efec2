"""Which answer belongs to which citance, under the corrected key."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from tasks.types.clsumm.citances import CitanceName, numbered

#: What the CSV form has for every marker offset.
NO_MARKERS = ("", "0")


class Matcher:
    """Finds the citances of one topic that answers name.

    The key is reference paper, citing paper and marker offset, and the Citance Number where two citances
    share these or where the markers tell nothing. What is not found by its number, or gives none, takes its
    turn, in the order of the numbers, among the citances that it fits and that no answer names; ``in_order``
    counts these.
    """

    def __init__(self, names: Sequence[CitanceName]) -> None:
        self.names = names
        self.in_order = 0
        self._by_citing: dict[str, list[int]] = defaultdict(list)
        self._everywhere = sorted(range(len(names)), key=lambda place: numbered(names[place]))
        for place in self._everywhere:
            self._by_citing[names[place].citing].append(place)
        self._markers_tell = any(name.marker not in NO_MARKERS for name in names)

    @classmethod
    def of_index(cls, entry: dict[str, Any]) -> Matcher:
        return cls([CitanceName(*parts) for parts in entry["citances"]])

    def places(self, answers: Sequence[CitanceName]) -> list[int | None]:
        """Where the citance of each answer stands in the topic; None where there is none for it."""
        fitting = [self._fitting(answer) for answer in answers]
        found = [own[0] if is_exact and len(own) == 1 else None for own, is_exact in fitting]
        taken = {place for place in found if place is not None}
        for turn, (own, is_exact) in enumerate(fitting):
            if is_exact and len(own) == 1:
                continue
            place = next((candidate for candidate in own if candidate not in taken), None)
            if place is not None:
                found[turn] = place
                taken.add(place)
                self.in_order += 1
        return found

    def _fitting(self, answer: CitanceName) -> tuple[list[int], bool]:
        """The places of the citances that an answer's name fits, and whether its number is theirs too."""
        candidates = self._by_citing.get(answer.citing, ()) if answer.citing else self._everywhere
        fitting = [
            place
            for place in candidates
            if (not answer.reference or self.names[place].reference == answer.reference)
            and (not answer.marker or self.names[place].marker in ("", answer.marker))
        ]
        is_told_by_marker = self._markers_tell and bool(answer.marker) and len(fitting) == 1
        if not answer.number or is_told_by_marker:
            return fitting, True
        numbered = [place for place in fitting if self.names[place].number == answer.number]
        if numbered or not answer.citing:
            return numbered, True
        return fitting, False

    def unanswered(self, answers: Sequence[CitanceName]) -> list[CitanceName]:
        found = set(self.places(answers))
        return [name for place, name in enumerate(self.names) if place not in found]
