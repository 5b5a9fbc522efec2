"""Workers store the intervals and comparisons of means over seeds."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("scoring", "0025_settled_boards"),
        ("tasks", "0072_seeds_of_systems"),
    ]

    operations = [
        migrations.CreateModel(
            name="SystemComparison",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("metric", models.CharField(max_length=80)),
                (
                    "first",
                    models.CharField(help_text="The smaller digest.", max_length=64),
                ),
                ("second", models.CharField(max_length=64)),
                (
                    "difference",
                    models.FloatField(help_text="First minus second.", null=True),
                ),
                ("error", models.FloatField(null=True)),
                (
                    "df",
                    models.FloatField(
                        help_text="Satterthwaite's degrees of freedom.", null=True
                    ),
                ),
                ("low", models.FloatField(null=True)),
                ("high", models.FloatField(null=True)),
                ("p", models.FloatField(null=True)),
                ("units", models.PositiveIntegerField(default=0)),
                (
                    "phase",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="system_comparisons",
                        to="tasks.phase",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("phase", "metric", "first", "second"),
                        name="system_comparison_once_a_metric",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("second__gt", models.F("first"))),
                        name="system_comparison_smaller_first",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SystemMean",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                (
                    "system",
                    models.CharField(help_text="A digest of its runs.", max_length=64),
                ),
                (
                    "ends",
                    models.JSONField(
                        default=dict,
                        help_text="By metric the ends of the interval, if it has one.",
                    ),
                ),
                (
                    "phase",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="system_means",
                        to="tasks.phase",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("phase", "system"), name="system_mean_once_a_system"
                    )
                ],
            },
        ),
    ]
