"""Store the ranks of boards, and let workers look at each board again, which stores its ranks."""

import django.db.models.deletion
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def ask_again(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Let the next sweeps ask for each board, since none is complete at version 0."""
    apps.get_model("scoring", "BoardOrder").objects.update(version=0)


class Migration(migrations.Migration):
    dependencies = [
        ("scoring", "0023_named_monthly_ranks"),
        ("tasks", "0001_initial"),
    ]

    operations = [
        migrations.RunPython(ask_again, migrations.RunPython.noop),
        migrations.CreateModel(
            name="BoardRanks",
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
                    "inputs",
                    models.CharField(
                        help_text="A digest of the rows, their values and the order's revision.",
                        max_length=64,
                    ),
                ),
                (
                    "version",
                    models.PositiveBigIntegerField(
                        help_text="The version of the phase that the ranks were computed at."
                    ),
                ),
                (
                    "is_complete",
                    models.BooleanField(
                        help_text="Whether each two rows had been compared, so that later versions change no rank."
                    ),
                ),
                ("ranges", models.JSONField()),
                (
                    "first_two",
                    models.JSONField(
                        help_text="How far the first row differs from the second.",
                        null=True,
                    ),
                ),
                (
                    "gold",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tasks.gold",
                    ),
                ),
                (
                    "order",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="ranks",
                        to="scoring.boardorder",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("order", "gold"),
                        name="board_ranks_once_a_board",
                    )
                ],
            },
        ),
    ]
