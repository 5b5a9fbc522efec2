from typing import Any

from django.db import migrations

import citeboard.core.lookalikes
from citeboard.core.lookalikes import skeleton


def fill_in(apps: Any, schema_editor: Any) -> None:
    rows = apps.get_model("tasks", "Submission").objects.only("system").order_by("pk")
    batch = []
    for row in rows.iterator(chunk_size=1000):
        row.system_skeleton = skeleton(row.system)
        batch.append(row)
        if len(batch) == 1000:
            rows.bulk_update(batch, ["system_skeleton"], batch_size=250)
            batch = []
    rows.bulk_update(batch, ["system_skeleton"], batch_size=250)


class Migration(migrations.Migration):
    dependencies = [("tasks", "0042_leakage_limits")]

    operations = [
        migrations.AddField(
            model_name="submission",
            name="system_skeleton",
            field=citeboard.core.lookalikes.Skeleton(
                blank=False,
                db_default="",
                db_index=True,
                default="",
                editable=False,
                max_length=200,
                of="system",
            ),
        ),
        migrations.RunPython(fill_in, migrations.RunPython.noop),
    ]
