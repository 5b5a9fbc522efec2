"""The published results that a season file brings: read, placed on its tasks, and stored.

`tasks.seasons` names this module by a string, since it imports nothing of scoring.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import Model
from django.utils import timezone

from citeboard.core.words import counted
from scoring.models import Paper, Reported, ReportedTable
from scoring.publications import reading
from scoring.publications.placement import PlacementEntry, judged_placement, read_placement
from scoring.publications.reading import Publication, Row, read_publication
from scoring.publications.reading import Table as Printed
from tasks.models import Phase, Task
from tasks.models.seasons import bump_version
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
        return [change for publication in self.publications for change in store_publication(publication)]


def store_publication(publication: Publication) -> list[str]:
    """Bring what the site knows of the publication to what the file says; returns what changed.

    The file is the whole of it: tables and rows that it does not have any more are gone afterwards. What is
    known already is told by its digest, in one query.
    """
    digest = _digest(publication)
    if Paper.objects.filter(key=publication.paper.key, digest=digest).exists():
        return []
    with transaction.atomic():
        paper, changes = _store_paper(publication)
        changes += _store_tables(paper, publication)
        Paper.objects.filter(pk=paper.pk).update(digest=digest)
        if changes:
            Paper.objects.filter(pk=paper.pk).update(loaded_at=timezone.now())
            _renew_boards(paper)
    return changes


def known_publication(key: str) -> Publication | None:
    """A publication of the site, as far as its tables and rows have names; without figures."""
    paper = Paper.objects.filter(key=key).first()
    if paper is None:
        return None
    facts = {field.name: getattr(paper, field.name) for field in fields(reading.Paper)}
    return Publication(
        paper=reading.Paper(**{**facts, "authors": tuple(paper.authors)}),
        tables=tuple(_known_table(table) for table in paper.tables.all()),
    )


def _known_table(table: ReportedTable) -> Printed:
    rows: dict[str, Row] = {}
    for figure in Reported.objects.filter(table=table):
        rows.setdefault(
            figure.key,
            Row(
                line=figure.line,
                system=figure.system or None,
                system_id=figure.system_id,
                features=figure.features,
                figures=(),
            ),
        )
    return Printed(
        name=table.name,
        kind=table.kind,
        what=table.what,
        row_key=tuple(table.row_key),
        measures=tuple(reading.Measure(**measure) for measure in table.measures),
        rows=tuple(rows.values()),
        marks=table.marks,
    )


def _digest(publication: Publication) -> str:
    content = json.dumps(asdict(publication), ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


def _store_paper(publication: Publication) -> tuple[Paper, list[str]]:
    facts = {**asdict(publication.paper), "authors": list(publication.paper.authors)}
    key = facts.pop("key")
    paper = Paper.objects.select_for_update().filter(key=key).first()
    if paper is None:
        return Paper.objects.create(key=key, **facts), [f"{key}: new"]
    return paper, [f"{key}: {', '.join(changed)} changed"] if (changed := _set(paper, facts)) else []


def _store_tables(paper: Paper, publication: Publication) -> list[str]:
    changes = []
    gone = ReportedTable.objects.filter(paper=paper).exclude(
        name__in=[table.name for table in publication.tables]
    )
    for old in gone:
        changes.append(f"{old.name}: gone")
        old.delete()
    for position, table in enumerate(publication.tables):
        changes += _store_table(paper, position, table)
    return changes


def _store_table(paper: Paper, position: int, table: Printed) -> Iterator[str]:
    facts = {
        "position": position,
        "kind": table.kind,
        "what": table.what,
        "dataset": table.dataset,
        "row_key": list(table.row_key),
        "measures": [asdict(measure) for measure in table.measures],
        "deviation": table.deviation,
        "marks": dict(table.marks),
        "notes": list(table.notes),
    }
    row = ReportedTable.objects.filter(paper=paper, name=table.name).first()
    if row is None:
        row = ReportedTable.objects.create(paper=paper, name=table.name, **facts)
    elif changed := _set(row, facts):
        yield f"{table.name}: {', '.join(changed)} changed"
    new, changed_figures, removed = _store_figures(row, table)
    changed = [
        f"{counted(count, 'figure')} {verb}"
        for count, verb in ((new, "new"), (changed_figures, "changed"), (removed, "gone"))
        if count
    ]
    if changed:
        yield f"{table.name}: {', '.join(changed)}"


def _store_figures(table: ReportedTable, entry: Printed) -> tuple[int, int, int]:
    wanted = {
        (facts["key"], facts["metric"]): facts
        for position, row in enumerate(entry.rows)
        for facts in _facts(entry, row, position)
    }
    present = {(figure.key, figure.metric): figure for figure in Reported.objects.filter(table=table)}
    new = [Reported(table=table, **facts) for name, facts in wanted.items() if name not in present]
    Reported.objects.bulk_create(new, batch_size=500)
    changed = sum(bool(_set(present[name], facts)) for name, facts in wanted.items() if name in present)
    gone = [figure.pk for name, figure in present.items() if name not in wanted]
    Reported.objects.filter(pk__in=gone).delete()
    return len(new), changed, len(gone)


def _facts(table: Printed, row: Row, position: int) -> Iterator[dict[str, Any]]:
    measures = {measure.name: measure for measure in table.measures}
    for figure in row.figures:
        yield {
            "key": json.dumps(table.key(row), ensure_ascii=False),
            "position": position,
            "line": row.line,
            "system": row.system or "",
            "system_id": row.system_id,
            "features": dict(row.features),
            "metric": figure.measure,
            "value": figure.value,
            "printed": figure.printed,
            "scale": measures[figure.measure].scale,
            "higher_is_better": measures[figure.measure].higher_is_better,
            "deviation": figure.deviation,
            "printed_deviation": figure.printed_deviation,
            "mark": figure.mark,
            "less_than": figure.less_than,
            "suspect": figure.suspect,
            "is_inconsistent": row.is_inconsistent,
            "contradiction": row.contradiction[:400],
            "note": row.note,
        }


def _set(row: Model, facts: dict[str, Any]) -> list[str]:
    """Give the row these facts; returns the names of those that it had otherwise."""
    changed = [name for name, value in facts.items() if getattr(row, name) != value]
    for name in changed:
        setattr(row, name, facts[name])
    if changed:
        row.save(update_fields=changed)
    return changed


def _renew_boards(paper: Paper) -> None:
    for task in Task.objects.exclude(published=[]):
        if any(placement["paper"] == paper.key for placement in task.published):
            for phase in Phase.objects.filter(task=task).order_by("pk"):
                bump_version(phase.pk)
