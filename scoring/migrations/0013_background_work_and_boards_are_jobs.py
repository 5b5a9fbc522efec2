"""What jobs say of background work and of boards now goes."""

from importlib import import_module

import django.db.models.deletion
from django.db import migrations, models

from citeboard.core.database import raise_epoch

carried = import_module("scoring.migrations.0012_background_work_and_boards_as_jobs")


class Migration(migrations.Migration):
    dependencies = [
        ("core", "0003_schema_epoch"),
        ("scoring", "0012_background_work_and_boards_as_jobs"),
    ]

    operations = [
        raise_epoch(2),
        # What processes of the release before have written meanwhile.
        carried.carry(("scoring", "BackgroundJob"), "background", carried.of_background),
        carried.carry(("scoring", "BoardOrder"), "compare", carried.of_board),
        migrations.RemoveConstraint(model_name="backgroundjob", name="background_job_once_at_a_time"),
        migrations.RemoveConstraint(model_name="backgroundjob", name="background_job_running_holds_a_lease"),
        migrations.RemoveIndex(model_name="backgroundjob", name="background_job_by_lease"),
        migrations.RemoveField(model_name="backgroundjob", name="attempt"),
        migrations.RemoveField(model_name="backgroundjob", name="lease_expires_at"),
        migrations.RemoveField(model_name="backgroundjob", name="lease_owner"),
        migrations.RemoveField(model_name="backgroundjob", name="progress"),
        migrations.RemoveField(model_name="backgroundjob", name="reason"),
        migrations.RemoveField(model_name="backgroundjob", name="state"),
        migrations.RemoveField(model_name="backgroundjob", name="woken_at"),
        migrations.RemoveField(model_name="boardorder", name="asked_at"),
        migrations.RemoveField(model_name="boardorder", name="lease_expires_at"),
        migrations.RemoveField(model_name="boardorder", name="lease_owner"),
        migrations.AlterField(
            model_name="backgroundjob",
            name="job",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE, related_name="background", to="tasks.job"
            ),
        ),
        migrations.AlterField(
            model_name="boardorder",
            name="job",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE, related_name="board", to="tasks.job"
            ),
        ),
        migrations.AddConstraint(
            model_name="backgroundjob",
            constraint=models.UniqueConstraint(
                condition=models.Q(("finished_at", None)),
                fields=("season", "kind", "digest"),
                name="background_job_once_at_a_time",
            ),
        ),
    ]
