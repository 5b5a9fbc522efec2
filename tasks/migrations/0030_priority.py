"""Runs have a place among those of their team, and the first few may count."""

import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tasks", "0029_aliases_so_far")]

    operations = [
        migrations.AddField(
            model_name="phase",
            name="priority_runs",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="Where the first runs by priority count: so many of each team. Empty: one.",
                null=True,
                validators=[django.core.validators.MinValueValidator(1)],
                verbose_name="how many runs count by priority",
            ),
        ),
        migrations.AddField(
            model_name="submission",
            name="priority",
            field=models.PositiveIntegerField(
                db_default=0,
                default=0,
                help_text="Its place among the team's runs, where the first few are judged.",
            ),
        ),
        migrations.AlterField(
            model_name="phase",
            name="counting",
            field=models.CharField(
                choices=[
                    ("best", "best run of a team"),
                    ("last", "last run of a team"),
                    ("selected", "the run a team selects"),
                    ("all", "every run of a team"),
                    ("priority", "the first runs by the priority that a team gives"),
                ],
                default="best",
                max_length=10,
                verbose_name="which run counts",
            ),
        ),
    ]
