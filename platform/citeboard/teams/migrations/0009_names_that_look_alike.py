from typing import Any

from django.db import migrations

import citeboard.core.lookalikes
from citeboard.core.lookalikes import skeleton


def fill_in(apps: Any, schema_editor: Any) -> None:
    for model in ("User", "Team"):
        rows = apps.get_model("teams", model).objects.only("name")
        for row in rows.exclude(name="").iterator(chunk_size=1000):
            rows.filter(pk=row.pk).update(name_skeleton=skeleton(row.name))


def added(model: str) -> migrations.AddField:
    field = citeboard.core.lookalikes.Skeleton(
        blank=False, db_default="", db_index=True, default="", editable=False, max_length=200, of="name"
    )
    return migrations.AddField(model_name=model, name="name_skeleton", field=field)


class Migration(migrations.Migration):
    dependencies = [("teams", "0008_mails_are_jobs")]

    operations = [added("user"), added("team"), migrations.RunPython(fill_in, migrations.RunPython.noop)]
