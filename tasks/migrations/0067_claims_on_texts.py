import django.db.models.deletion
import django.utils.timezone
from django.apps.registry import Apps
from django.conf import settings
from django.db import migrations, models
from django.db.models import Min


def of_before(apps: Apps, schema_editor: object) -> None:
    """What overlaps by now binds nobody until staff decide; a sweep looks for it."""
    publications = apps.get_model("tasks", "GoldPublication").objects
    publications.update(is_of_before=True, compared_at=None)
    seasons = (
        publications.values_list("gold__task__season")
        .annotate(first=Min("at"))
        .order_by()
    )
    for season, first in list(seasons):
        publications.filter(gold__task__season=season).update(first_at=first)


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("tasks", "0066_publications_of_gold"),
    ]

    operations = [
        migrations.AddField(
            model_name="goldoverlap",
            name="is_claimed",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="The second claims texts of the first, which follows it.",
            ),
        ),
        migrations.AddField(
            model_name="goldpublication",
            name="first_at",
            field=models.DateTimeField(
                default=django.utils.timezone.now,
                help_text="When the first gold of its season was, also one that is deleted.",
            ),
        ),
        migrations.AddField(
            model_name="goldpublication",
            name="is_of_before",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="Published before there were claims.",
            ),
        ),
        migrations.CreateModel(
            name="Claim",
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
                    "state",
                    models.CharField(
                        choices=[
                            ("open", "binds nobody until it is decided on"),
                            ("binding", "binds the later season"),
                            ("released", "the later season is released"),
                        ],
                        default="open",
                        max_length=10,
                    ),
                ),
                ("made_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
                ("reason", models.TextField(blank=True, default="")),
                (
                    "decided_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "later",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="claims_on_it",
                        to="tasks.season",
                    ),
                ),
                (
                    "season",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="claims",
                        to="tasks.season",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("season", "later"), name="claim_once_a_pair"
                    )
                ],
            },
        ),
        migrations.RunPython(of_before, migrations.RunPython.noop),
    ]
