"""The published results that a season file brings: read, placed on its tasks, and stored.

`tasks.seasons` names this module by a string, since it imports nothing of scoring.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from scoring.publications.placement import PlacementEntry, judged_placement, read_placement
from scoring.publications.printed_form import Publication
from scoring.publications.reading import read_publication
from scoring.publications.reported import known_publication, store_publication
from tasks.seasons.file.tables import Table
from tasks.types import InputRefused, Problem

#: The metrics of a task by rule set.
TaskMetrics = Mapping[str, Sequence[str]]


class SeasonResults:
    """``problems`` keep the season from being loaded; ``oddities`` do not."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self.publications: list[Publication] = []
        self.problems: list[Problem] = []
        self.oddities: list[Problem] = []
        for path in paths:
            try:
                publication, odd = read_publication(path)
            except InputRefused as refused:
                self.problems += refused.problems
            else:
                self.publications.append(publication)
                self.oddities += odd

    def placements(
        self, tasks: Mapping[str, tuple[Sequence[Table], TaskMetrics]]
    ) -> dict[str, list[dict[str, Any]]]:
        """What each task keeps of its `[[tasks.published]]` tables; faults are noted on their lines."""
        entries = {slug: [read_placement(table) for table in tables] for slug, (tables, _) in tasks.items()}
        if self.problems:
            return {}
        known = [*self.publications, *self._known_to_the_site(entries)]
        placed: dict[str, list[dict[str, Any]]] = {}
        for slug, (_, metrics) in tasks.items():
            found = (judged_placement(entry, known, metrics) for entry in entries[slug])
            placed[slug] = [placement.as_json() for placement in found if placement is not None]
        return placed

    def _known_to_the_site(self, entries: Mapping[str, list[PlacementEntry]]) -> list[Publication]:
        """Publications that tasks name and the season does not bring."""
        brought = {publication.paper.key for publication in self.publications}
        named = {entry.paper for listed in entries.values() for entry in listed if entry.paper}
        found = (known_publication(key) for key in sorted(named - brought))
        return [publication for publication in found if publication is not None]

    def store(self) -> list[str]:
        """Returns what changed, in sentences."""
        return [change for publication in self.publications for change in store_publication(publication)]
