"""Classes get the name of what they hold; tables and keys keep theirs."""

import json
from typing import Any

import django.db.models.deletion
from django.db import migrations, models

NAMES = {"scoring.outsidemeasure": "scoring.manualmeasure", "scoring.outsidescore": "scoring.manualscore"}


def rename_in_history(apps: Any, names: dict[str, str]) -> None:
    """What was deleted can be brought back by the name of its model."""
    entries = apps.get_model("core", "AuditEntry").objects.filter(action__startswith="deleted")
    for entry in entries.iterator():
        before = json.dumps(entry.changes)
        after = before
        for old, new in names.items():
            after = after.replace(f'"model": "{old}"', f'"model": "{new}"')
        if after != before:
            entry.changes = json.loads(after)
            entry.save(update_fields=["changes"])


class Migration(migrations.Migration):
    dependencies = [
        ("core", "0007_history_as_facts"),
        ("scoring", "0015_what_is_told"),
        ("tasks", "0044_public_part_in_words"),
    ]

    operations = [
        migrations.AlterModelTable(name="outsidemeasure", table="scoring_outsidemeasure"),
        migrations.AlterModelTable(name="outsidescore", table="scoring_outsidescore"),
        migrations.RenameModel(old_name="OutsideMeasure", new_name="ManualMeasure"),
        migrations.RenameModel(old_name="OutsideScore", new_name="ManualScore"),
        migrations.AlterField(
            model_name="manualmeasure",
            name="phase",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="manual_measures", to="tasks.phase"
            ),
        ),
        migrations.AlterField(
            model_name="manualscore",
            name="submission",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="manual_scores",
                to="tasks.submission",
            ),
        ),
        migrations.RunPython(
            lambda apps, editor: rename_in_history(apps, NAMES),
            lambda apps, editor: rename_in_history(apps, {new: old for old, new in NAMES.items()}),
        ),
    ]
