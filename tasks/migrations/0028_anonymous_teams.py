"""Teams go by numbers until an instant."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tasks", "0027_public_so_far")]

    operations = [
        migrations.AddField(
            model_name="season",
            name="anonymous_until",
            field=models.DateTimeField(
                blank=True,
                help_text="Until then others than organisers read “Team 41” in the place of a team's name: a number drawn when the team entered.",
                null=True,
                verbose_name="teams are anonymous until",
            ),
        ),
        migrations.AddField(
            model_name="registration",
            name="alias",
            field=models.PositiveIntegerField(
                blank=True, editable=False, help_text="The number that stands for its name.", null=True
            ),
        ),
        migrations.AddConstraint(
            model_name="registration",
            constraint=models.UniqueConstraint(fields=("season", "alias"), name="registration_alias_once"),
        ),
    ]
