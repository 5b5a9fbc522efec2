"""Store the rows of monthly ranks as objects with names instead of lists.

No release has written such rows: 0.3.0 has no monthly ranks, and its processes end
before this migration runs.
"""

from collections.abc import Callable, Iterator
from typing import Any

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

NAMES = ("run", "team", "rank")
BATCH = 200


def _batches(model: Any) -> Iterator[list[Any]]:
    last = 0
    while rows := list(model.objects.filter(pk__gt=last).order_by("pk")[:BATCH]):
        yield rows
        last = rows[-1].pk


def _rewrite(apps: Apps, rewritten: Callable[[Any], Any]) -> None:
    model = apps.get_model("scoring", "MonthlyRanks")
    for rows in _batches(model):
        for row in rows:
            row.runs = [rewritten(ranked) for ranked in row.runs]
        model.objects.bulk_update(rows, ["runs"])


def add_names(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    _rewrite(apps, lambda ranked: dict(zip(NAMES, ranked, strict=True)))


def remove_names(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    _rewrite(apps, lambda ranked: [ranked[name] for name in NAMES])


class Migration(migrations.Migration):
    dependencies = [("scoring", "0022_revised_comparisons")]

    operations = [migrations.RunPython(add_names, remove_names)]
