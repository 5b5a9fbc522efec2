"""Teams that have entered before get a number too, by chance."""

import secrets

from django.apps.registry import Apps as StateApps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def draw_aliases(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    entries = apps.get_model("tasks", "Registration").objects
    for season in entries.order_by().values_list("season", flat=True).distinct():
        own = list(entries.filter(season=season).values_list("pk", flat=True))
        drawn = secrets.SystemRandom().sample(range(1, max(99, 4 * len(own)) + 1), len(own))
        for entry, alias in zip(own, drawn, strict=True):
            entries.filter(pk=entry).update(alias=alias)


class Migration(migrations.Migration):
    dependencies = [("tasks", "0028_anonymous_teams")]

    operations = [migrations.RunPython(draw_aliases, migrations.RunPython.noop)]
