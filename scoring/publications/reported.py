"""Keeping the results of a publication: the same file once more changes nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, fields
from typing import Any

from django.db import transaction
from django.db.models import Model
from django.utils import timezone

from citeboard.core.words import counted
from scoring.models import Paper, Reported, ReportedTable
from scoring.publications import printed_form
from scoring.publications.printed_form import Publication, Row
from scoring.publications.printed_form import Table as Printed
from tasks.models import Phase, Task
from tasks.models.seasons import bump_version


def store_publication(publication: Publication) -> list[str]:
    """Bring what the site knows of the publication to what the file says; returns what changed.

    The file is the whole of it: tables and rows that it does not have any more are gone afterwards. What is
    known already is told by its digest, in one query.
    """
    digest = _digest(publication)
    if Paper.objects.filter(key=publication.paper.key, digest=digest).exists():
        return []
    with transaction.atomic():
        paper, changes = _paper(publication)
        changes += _tables(paper, publication)
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
    facts = {field.name: getattr(paper, field.name) for field in fields(printed_form.Paper)}
    return Publication(
        paper=printed_form.Paper(**{**facts, "authors": tuple(paper.authors)}),
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
        measures=tuple(printed_form.Measure(**measure) for measure in table.measures),
        rows=tuple(rows.values()),
        marks=table.marks,
    )


def _digest(publication: Publication) -> str:
    """Of everything that is kept of a publication."""
    content = json.dumps(asdict(publication), ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


def _paper(publication: Publication) -> tuple[Paper, list[str]]:
    facts = {**asdict(publication.paper), "authors": list(publication.paper.authors)}
    key = facts.pop("key")
    paper = Paper.objects.select_for_update().filter(key=key).first()
    if paper is None:
        return Paper.objects.create(key=key, **facts), [f"{key}: new"]
    return paper, [f"{key}: {', '.join(changed)} changed"] if (changed := _set(paper, facts)) else []


def _tables(paper: Paper, publication: Publication) -> list[str]:
    changes = []
    gone = ReportedTable.objects.filter(paper=paper).exclude(
        name__in=[table.name for table in publication.tables]
    )
    for old in gone:
        changes.append(f"{old.name}: gone")
        old.delete()
    for position, table in enumerate(publication.tables):
        changes += _table(paper, position, table)
    return changes


def _table(paper: Paper, position: int, table: Printed) -> Iterator[str]:
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
    new, changed_figures, removed = _figures(row, table)
    changed = [
        f"{counted(count, 'figure')} {verb}"
        for count, verb in ((new, "new"), (changed_figures, "changed"), (removed, "gone"))
        if count
    ]
    if changed:
        yield f"{table.name}: {', '.join(changed)}"


def _figures(table: ReportedTable, entry: Printed) -> tuple[int, int, int]:
    """How many figures are new, changed and gone."""
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
    """The boards that the paper's tables stand on have changed."""
    for task in Task.objects.exclude(published=[]):
        if any(placement["paper"] == paper.key for placement in task.published):
            for phase in Phase.objects.filter(task=task).order_by("pk"):
                bump_version(phase.pk)
