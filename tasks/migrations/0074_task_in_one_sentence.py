"""Add a field for a one-sentence description of a task."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tasks", "0073_battles_alone")]

    operations = [
        migrations.AddField(
            model_name="task",
            name="sentence",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="What a system has to do, for the first page; empty: as the task type or its card says it.",
                max_length=200,
                verbose_name="task in one sentence",
            ),
        ),
    ]
