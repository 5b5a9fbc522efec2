import django.db.models.deletion
import django.utils.timezone
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.models import F


def of_public_seasons(apps: Apps, schema_editor: object) -> None:
    """Nobody is told anew of what was published before; since when is known of the gold alone."""
    overlaps = apps.get_model("tasks", "GoldOverlap")
    overlaps.objects.update(shown=F("same") + F("alike"))
    golds, publications = (
        apps.get_model("tasks", "Gold"),
        apps.get_model("tasks", "GoldPublication"),
    )
    public = golds.objects.filter(task__season__is_public=True).values_list(
        "pk", "created_at"
    )
    publications.objects.bulk_create(
        publications(gold_id=gold, at=at, compared_at=django.utils.timezone.now())
        for gold, at in public
    )


class Migration(migrations.Migration):
    dependencies = [
        ("tasks", "0065_gold_of_other_organisers"),
    ]

    operations = [
        migrations.AddField(
            model_name="goldoverlap",
            name="shown",
            field=models.PositiveIntegerField(
                db_default=0,
                default=0,
                help_text="Those that show the same, whatever they answer; scored in both.",
            ),
        ),
        migrations.CreateModel(
            name="GoldPublication",
            fields=[
                (
                    "gold",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="publication",
                        serialize=False,
                        to="tasks.gold",
                    ),
                ),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
                ("compared_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.RunPython(of_public_seasons, migrations.RunPython.noop),
    ]
