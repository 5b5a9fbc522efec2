"""New seasons are drafts, and hold the phases of a preset until a task gets them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tasks", "0069_trivial_runs"),
    ]

    operations = [
        migrations.AddField(
            model_name="season",
            name="planned_phases",
            field=models.JSONField(
                blank=True,
                db_default=models.Value([], models.JSONField()),
                default=list,
                help_text="Phases that a task made from its gold gets while the season has no task: tables of the file.",
            ),
        ),
        migrations.AlterField(
            model_name="season",
            name="is_public",
            field=models.BooleanField(default=False),
        ),
    ]
