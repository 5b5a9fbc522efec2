from django.db import migrations, models

import tasks.models.seasons


class Migration(migrations.Migration):
    dependencies = [
        ("tasks", "0016_board_by_the_clock"),
    ]

    operations = [
        migrations.AddField(
            model_name="season",
            name="time_zone",
            field=models.CharField(
                db_default="UTC",
                default="UTC",
                help_text="In which organisers write the season's times, such as Europe/Rome or AoE. Phases have "
                "zones of their own.",
                max_length=60,
                validators=[tasks.models.seasons.validate_zone],
                verbose_name="time zone",
            ),
        ),
    ]
