"""Load the results of publications that a season file names. The module `tasks.seasons`
imports this module by its name.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import Model
from django.utils import timezone

from citeboard.core.words import count_with_noun
from scoring.models import Paper, Reported, ReportedTable
from scoring.results.publications import reading
from scoring.results.publications.placement import (
    read_published_table_placement,
    validate_published_table_placement,
)
from scoring.results.publications.reading import (
    PrintedRow,
    PrintedTable,
    Publication,
    read_publication,
)
from tasks.models import Phase, Task
from tasks.models.seasons import increment_board_version
from tasks.seasons.file.tables import CheckedTable
from tasks.types import InputRefused, Problem

#: Printed values have the fields PRINTED_VALUE_FIELDS in the database and in the season file.
PRINTED_VALUE_FIELDS = (
    "value",
    "printed",
    "deviation",
    "printed_deviation",
    "mark",
    "less_than",
    "suspect",
)
#: MetricsByRuleSet maps each rule set of a task to its metrics.
MetricsByRuleSet = Mapping[str, Sequence[str]]


class PublicationsOfSeasonFile:
    """The results of publications that a season file names. ``problems`` prevent the
    loading of the season, and ``oddities`` are warnings.
    """

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

    def validate_placements_by_task(
        self, tasks: Mapping[str, tuple[Sequence[CheckedTable], MetricsByRuleSet]]
    ) -> dict[str, list[dict[str, Any]]]:
        entries = {
            slug: [read_published_table_placement(table) for table in tables]
            for slug, (tables, _) in tasks.items()
        }
        if self.problems:
            return {}
        brought = {publication.paper.key for publication in self.publications}
        named = {
            said.paper
            for listed in entries.values()
            for said, *_ in listed
            if said.paper
        }
        of_the_site = [load_stored_publication(key) for key in sorted(named - brought)]
        works = [
            *self.publications,
            *(publication for publication in of_the_site if publication is not None),
        ]
        placed: dict[str, list[dict[str, Any]]] = {}
        for slug, (_, metrics) in tasks.items():
            fits = (
                validate_published_table_placement(*entry, works, metrics)
                for entry in entries[slug]
            )
            placed[slug] = [
                placement.as_json() for placement in fits if placement is not None
            ]
        return placed

    def store_publications(self) -> list[str]:
        return [
            change
            for publication in self.publications
            for change in store_publication(publication)
        ]


def store_publication(publication: Publication) -> list[str]:
    """Store the publication in the database, and delete stored rows that the
    publication no longer has. Return the names of the fields or tables of the
    publication that have changed.
    """
    content = json.dumps(asdict(publication), ensure_ascii=False, sort_keys=True)
    digest = hashlib.sha256(content.encode()).hexdigest()
    key = publication.paper.key
    if Paper.objects.filter(key=key, digest=digest).exists():
        return []
    facts = {**asdict(publication.paper), "authors": list(publication.paper.authors)}
    changes = []
    with transaction.atomic():
        if (paper := Paper.objects.select_for_update().filter(key=key).first()) is None:
            paper = Paper.objects.create(**facts)
            changes.append(f"{key}: new")
        elif changed := _set_changed_fields(paper, facts):
            changes.append(f"{key}: {', '.join(changed)} changed")
        names = [table.name for table in publication.tables]
        for old in ReportedTable.objects.filter(paper=paper).exclude(name__in=names):
            changes.append(f"{old.name}: gone")
            old.delete()
        for position, table in enumerate(publication.tables):
            changes += _store_table(paper, position, table)
        Paper.objects.filter(pk=paper.pk).update(digest=digest)
        if changes:
            Paper.objects.filter(pk=paper.pk).update(loaded_at=timezone.now())
            # If a publication changes, the boards that show its tables change as well.
            for task in Task.objects.exclude(published=[]):
                if any(placement["paper"] == key for placement in task.published):
                    for phase in Phase.objects.filter(task=task).order_by("pk"):
                        increment_board_version(phase.pk)
    return changes


def load_stored_publication(key: str) -> Publication | None:
    if (paper := Paper.objects.filter(key=key).first()) is None:
        return None
    tables = []
    for table in paper.tables.all():
        rows: dict[str, PrintedRow] = {}
        for figure in Reported.objects.filter(table=table):
            if figure.key not in rows:
                named = {
                    name: getattr(figure, name)
                    for name in ("line", "system_id", "features")
                }
                rows[figure.key] = PrintedRow(
                    **named, system=figure.system or None, figures=()
                )
        described = {
            name: getattr(table, name) for name in ("name", "kind", "what", "marks")
        }
        measures = tuple(
            reading.PrintedMeasure(**measure) for measure in table.measures
        )
        keys, lines = tuple(table.row_key), tuple(rows.values())
        tables.append(
            PrintedTable(**described, row_key=keys, measures=measures, rows=lines)
        )
    facts = {
        field.name: getattr(paper, field.name) for field in fields(reading.PrintedPaper)
    }
    facts["authors"] = tuple(paper.authors)
    return Publication(paper=reading.PrintedPaper(**facts), tables=tuple(tables))


def _store_table(paper: Paper, position: int, entry: PrintedTable) -> Iterator[str]:
    facts = {
        "position": position,
        **{
            name: getattr(entry, name)
            for name in ("kind", "what", "dataset", "deviation")
        },
        "row_key": list(entry.row_key),
        "measures": [asdict(measure) for measure in entry.measures],
        "marks": dict(entry.marks),
        "notes": list(entry.notes),
        "conclusions": [
            json.loads(json.dumps(asdict(conclusion)))
            for conclusion in entry.conclusions
        ],
    }
    if (
        table := ReportedTable.objects.filter(paper=paper, name=entry.name).first()
    ) is None:
        table = ReportedTable.objects.create(paper=paper, name=entry.name, **facts)
    elif changed := _set_changed_fields(table, facts):
        yield f"{entry.name}: {', '.join(changed)} changed"
    measures = {measure.name: measure for measure in entry.measures}
    wanted: dict[tuple[str, str], dict[str, Any]] = {}
    for place, row in enumerate(entry.rows):
        key = json.dumps(entry.key(row), ensure_ascii=False)
        for figure in row.figures:
            wanted[key, figure.measure] = {
                "key": key,
                "position": place,
                **{
                    name: getattr(row, name)
                    for name in ("line", "system_id", "is_inconsistent", "note")
                },
                "system": row.system or "",
                "features": dict(row.features),
                "metric": figure.measure,
                **{name: getattr(figure, name) for name in PRINTED_VALUE_FIELDS},
                **{
                    name: getattr(measures[figure.measure], name)
                    for name in ("scale", "higher_is_better")
                },
                "contradiction": row.contradiction[:400],
            }
    present = {
        (figure.key, figure.metric): figure
        for figure in Reported.objects.filter(table=table)
    }
    new = [
        Reported(table=table, **figure)
        for name, figure in wanted.items()
        if name not in present
    ]
    Reported.objects.bulk_create(new, batch_size=500)
    altered = sum(
        bool(_set_changed_fields(present[name], figure))
        for name, figure in wanted.items()
        if name in present
    )
    gone = [figure.pk for name, figure in present.items() if name not in wanted]
    Reported.objects.filter(pk__in=gone).delete()
    counts = ((len(new), "new"), (altered, "changed"), (len(gone), "gone"))
    if any(count for count, _ in counts):
        words = [
            f"{count_with_noun(count, 'figure')} {verb}"
            for count, verb in counts
            if count
        ]
        yield f"{entry.name}: {', '.join(words)}"


def _set_changed_fields(row: Model, facts: dict[str, Any]) -> list[str]:
    changed = [name for name, value in facts.items() if getattr(row, name) != value]
    for name in changed:
        setattr(row, name, facts[name])
    if changed:
        row.save(update_fields=changed)
    return changed
