"""Gold counts the rows of its files, which pages show beside the number of instances."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tasks", "0070_season_drafts")]

    operations = [
        migrations.AddField(
            model_name="gold",
            name="rows",
            field=models.PositiveIntegerField(
                editable=False,
                help_text="How many rows, objects or lines its files have; empty where nobody counted.",
                null=True,
            ),
        ),
    ]
