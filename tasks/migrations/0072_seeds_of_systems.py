"""Teams declare runs to be seeds of one system, as far as the task lets them."""

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tasks", "0071_rows_of_gold"),
        ("teams", "0011_country_and_legal_name"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="submission",
            name="seeds_of",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="The system of which this run is one seed; empty of a run on its own.",
                max_length=80,
            ),
        ),
        migrations.AddField(
            model_name="task",
            name="seeds",
            field=models.CharField(
                choices=[
                    ("allowed", "allowed"),
                    ("needed", "needed"),
                    ("refused", "refused"),
                ],
                db_default="allowed",
                default="allowed",
                help_text="Whether a run may, must or cannot be declared a seed of a system, whose mean ranks. A change is for later runs.",
                max_length=10,
                verbose_name="runs as seeds of a system",
            ),
        ),
        migrations.AddIndex(
            model_name="submission",
            index=models.Index(
                condition=models.Q(("seeds_of", ""), _negated=True),
                fields=["phase"],
                name="submission_seed",
            ),
        ),
    ]
