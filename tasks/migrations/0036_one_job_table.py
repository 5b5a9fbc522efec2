"""The table of the jobs of runs takes jobs of every kind."""

import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models

from citeboard.core.database import raise_epoch

OF_RUNS = ("write", "check", "score")


class Migration(migrations.Migration):
    dependencies = [("core", "0003_schema_epoch"), ("tasks", "0035_confirmation_told")]

    operations = [
        raise_epoch(2),
        migrations.RemoveConstraint(model_name="job", name="job_has_rules_where_it_scores"),
        migrations.RenameField(model_name="job", old_name="step", new_name="kind"),
        migrations.AlterModelManagers(
            name="job", managers=[("all_kinds", django.db.models.manager.Manager())]
        ),
        migrations.AlterField(
            model_name="job",
            name="kind",
            field=models.CharField(
                choices=[
                    ("write", "computing the run"),
                    ("check", "checking the run"),
                    ("score", "scoring the run"),
                    ("background", "work for a season"),
                    ("compare", "comparing the rows of a board"),
                    ("mail", "sending an e-mail"),
                    ("invitation", "sending an invitation"),
                    ("webhook", "posting an event"),
                ],
                default="score",
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="job",
            name="submission",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="jobs",
                to="tasks.submission",
            ),
        ),
        migrations.AlterField(
            model_name="job",
            name="gold",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="jobs",
                to="tasks.gold",
            ),
        ),
        migrations.AlterField(
            model_name="job", name="options_digest", field=models.CharField(blank=True, max_length=64)
        ),
        migrations.AlterField(
            model_name="job",
            name="attempt",
            field=models.PositiveIntegerField(default=0, help_text="Counted when a worker claims the job."),
        ),
        migrations.AlterField(
            model_name="job",
            name="sets_status",
            field=models.BooleanField(default=False, help_text="The submission's status follows this job."),
        ),
        migrations.AlterField(
            model_name="job",
            name="priority",
            field=models.PositiveSmallIntegerField(
                choices=[
                    (0, "a new run"),
                    (1, "a run that has a score"),
                    (2, "work for a season"),
                    (3, "a board whose rows are not compared"),
                    (4, "a board whose classes are not compared"),
                    (5, "an e-mail or an event"),
                ],
                db_default=0,
                default=0,
            ),
        ),
        migrations.AddField(
            model_name="job",
            name="due_at",
            field=models.DateTimeField(blank=True, help_text="When a sweep posts it.", null=True),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(fields=["kind", "state", "due_at"], name="job_due"),
        ),
        migrations.AddConstraint(
            model_name="job",
            constraint=models.CheckConstraint(
                condition=(models.Q(kind="score") & ~models.Q(rules=""))
                | (~models.Q(kind="score") & models.Q(rules="")),
                name="job_has_rules_where_it_scores",
            ),
        ),
        migrations.AddConstraint(
            model_name="job",
            constraint=models.CheckConstraint(
                condition=models.Q(kind__in=OF_RUNS, submission__isnull=False, gold__isnull=False)
                | (~models.Q(kind__in=OF_RUNS) & models.Q(submission=None, gold=None)),
                name="job_has_a_run_where_it_is_of_one",
            ),
        ),
        migrations.AddField(
            model_name="notification",
            name="job",
            field=models.OneToOneField(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="tasks.job",
            ),
        ),
        migrations.AddField(
            model_name="delivery",
            name="job",
            field=models.OneToOneField(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="delivery",
                to="tasks.job",
            ),
        ),
    ]
