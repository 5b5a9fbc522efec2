"""Background work and boards name the job that does them."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("scoring", "0010_ratings_of_responses"), ("tasks", "0036_one_job_table")]

    operations = [
        migrations.AddField(
            model_name="backgroundjob",
            name="job",
            field=models.OneToOneField(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="background",
                to="tasks.job",
            ),
        ),
        migrations.AddField(
            model_name="boardorder",
            name="job",
            field=models.OneToOneField(
                null=True, on_delete=django.db.models.deletion.CASCADE, related_name="board", to="tasks.job"
            ),
        ),
    ]
