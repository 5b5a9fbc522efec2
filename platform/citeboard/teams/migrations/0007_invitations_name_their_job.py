"""An invitation by e-mail names the job that sends it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("teams", "0006_language")]

    operations = [
        migrations.AddField(
            model_name="mailedinvitation",
            name="job",
            field=models.BigIntegerField(blank=True, null=True, unique=True),
        ),
    ]
