from django.apps.registry import Apps
from django.db import migrations, models


def by_organisers_of_now(apps: Apps, schema_editor: object) -> None:
    """Who organised a season when its gold came is not known of before: those of now count."""
    organisers: dict[int, set[int]] = {}
    rows = apps.get_model("tasks", "Organiser").objects.filter(role="organiser")
    for season, user in rows.values_list("season", "user"):
        organisers.setdefault(season, set()).add(user)
    contents = apps.get_model("tasks", "GoldContent")
    for gold, season in contents.objects.values_list("gold", "gold__task__season"):
        contents.objects.filter(pk=gold).update(
            organisers=sorted(organisers.get(season, ()))
        )
    overlaps = apps.get_model("tasks", "GoldOverlap")
    pairs = (
        overlaps.objects.values_list("gold__task__season", "other__task__season")
        .order_by()
        .distinct()
    )
    for season, other in list(pairs):
        if season == other or organisers.get(season) == organisers.get(other):
            bound = overlaps.objects.filter(
                gold__task__season=season, other__task__season=other
            )
            bound.update(binds=True)


class Migration(migrations.Migration):
    dependencies = [
        ("tasks", "0064_changed_runs"),
    ]

    operations = [
        migrations.AddField(
            model_name="goldcontent",
            name="organisers",
            field=models.JSONField(
                db_default=models.Value([], models.JSONField()),
                default=list,
                editable=False,
                help_text="Who organised its season when it came, by number.",
            ),
        ),
        migrations.AddField(
            model_name="goldoverlap",
            name="binds",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="Both are of one season, or were always of the same organisers: each follows the other.",
            ),
        ),
        migrations.RunPython(by_organisers_of_now, migrations.RunPython.noop),
    ]
