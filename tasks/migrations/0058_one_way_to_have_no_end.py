"""Phases that close in 2099 or later, by the clocks of any zone, close at the one instant that says no end."""

import datetime as dt

from django.apps.registry import Apps as StateApps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

FROM, WITHOUT_END = (
    dt.datetime(2099, 1, 1, tzinfo=dt.UTC),
    dt.datetime(2099, 12, 31, 23, 59, 59, tzinfo=dt.UTC),
)


def close_at_one_instant(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    apps.get_model("tasks", "Phase").objects.filter(closes__gte=FROM).update(closes=WITHOUT_END)
    for file in apps.get_model("tasks", "SeasonFile").objects.all():
        ends = {key for key, value in file.values.items() if key.endswith(".closes") and str(value) >= "2099"}
        if ends:
            file.values |= dict.fromkeys(ends, "2099-12-31T23:59:59Z")
            file.save(update_fields=["values"])


class Migration(migrations.Migration):
    dependencies = [("tasks", "0057_phases_without_end")]

    operations = [migrations.RunPython(close_at_one_instant, migrations.RunPython.noop)]
